// What the CUDA runtime says of the GPUs of this machine.

#include <cuda_runtime.h>

#include "operators/device.hpp"

namespace femcg::operators {

bool built_with_cuda() { return true; }

std::vector<DeviceProperties> cuda_devices(std::string* reason) {
  int count = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess) {
    const bool no_driver = status == cudaErrorInsufficientDriver;
    if (reason != nullptr)
      *reason =
          no_driver ? "no NVIDIA driver is loaded, or it is older than this build's CUDA" : cudaGetErrorString(status);
    return {};
  }
  std::vector<DeviceProperties> devices;
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    std::size_t free_bytes = 0, total_bytes = 0;
    cudaError_t status = cudaGetDeviceProperties(&properties, device);
    if (status == cudaSuccess) status = cudaSetDevice(device);
    if (status == cudaSuccess) status = cudaMemGetInfo(&free_bytes, &total_bytes);
    if (status != cudaSuccess) {
      if (reason != nullptr) *reason = cudaGetErrorString(status);
      return {};
    }
    devices.push_back({properties.name, static_cast<std::int64_t>(total_bytes), static_cast<std::int64_t>(free_bytes),
                       properties.multiProcessorCount, properties.major, properties.minor});
  }
  if (devices.empty() && reason != nullptr) *reason = "the driver reports no GPU";
  return devices;
}

}  // namespace femcg::operators
