// What the CUDA runtime says of the GPUs of this machine.

#include <algorithm>
#include <cstring>
#include <map>

#include "operators/backend/cuda/launch.cuh"
#include "operators/backend/device.hpp"
#include "operators/backend/vector.hpp"

namespace femcg::operators {

namespace {

using cuda::check;

/// An event that is given back whatever happens.
struct Event {
  Event() { check(cudaEventCreate(&event), "making an event"); }
  ~Event() { cudaEventDestroy(event); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t event{};
};

/// Its code is there for the GPUs that all kernels of this build are for.
__global__ void no_work() {}

/// Why the current GPU runs no kernel of this build; empty where it does.
std::string why_no_kernels(const DeviceProperties& of) {
  cudaFuncAttributes attributes{};
  const cudaError_t status = cudaFuncGetAttributes(&attributes, no_work);
  if (status == cudaSuccess) return "";
  cudaGetLastError();  // it is not sticky, and has been dealt with
  if (status == cudaErrorUnsupportedPtxVersion) return "the NVIDIA driver is older than this build's CUDA";
  if (status != cudaErrorNoKernelImageForDevice && status != cudaErrorInvalidDeviceFunction)
    return cudaGetErrorString(status);
  const std::string major = std::to_string(of.major), minor = std::to_string(of.minor);
  return "this build has no kernels for the " + of.name + ", of compute capability " + major + "." + minor +
         "; build it with -DCMAKE_CUDA_ARCHITECTURES=" + major + minor;
}

/// Makes a GPU the current one and asks for its properties. Returns why it cannot be used; empty where it can.
std::string try_device(int device, DeviceProperties& of) {
  cudaDeviceProp properties{};
  std::size_t free_bytes = 0, total_bytes = 0;
  cudaError_t status = cudaGetDeviceProperties(&properties, device);
  if (status == cudaSuccess) status = cudaSetDevice(device);
  if (status == cudaSuccess) status = cudaMemGetInfo(&free_bytes, &total_bytes);
  if (status != cudaSuccess) return cudaGetErrorString(status);
  of = {properties.name,
        static_cast<std::int64_t>(total_bytes),
        static_cast<std::int64_t>(free_bytes),
        properties.multiProcessorCount,
        properties.major,
        properties.minor};
  return why_no_kernels(of);
}

}  // namespace

cudaStream_t cuda::stream() {
  static const cudaStream_t stream = [] {
    cudaStream_t made{};
    check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "making a stream");
    return made;
  }();
  return stream;
}

bool cuda::waits_for_previous(const void* kernel) {
  constexpr int waiting_version = 90;
  static std::map<const void*, bool> known;
  const auto [found, is_new] = known.try_emplace(kernel, false);
  if (is_new) {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel), "asking for a kernel's version");
    found->second = attributes.ptxVersion >= waiting_version;
  }
  return found->second;
}

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
  std::string why_not = "the driver reports no GPU";
  int first = 0;
  for (int device = 0; device < count; ++device) {
    DeviceProperties properties;
    if (std::string why = try_device(device, properties); !why.empty()) {
      why_not = std::move(why);
      continue;
    }
    if (devices.empty()) first = device;
    devices.push_back(std::move(properties));
  }
  if (!devices.empty())
    cudaSetDevice(first);  // all work is for the first one that can be used
  else if (reason != nullptr)
    *reason = why_not;
  return devices;
}

double cuda_copy_bandwidth(std::int64_t bytes) {
  constexpr int repetitions = 12;
  Vector<char> from(bytes, Device::cuda), to(bytes, Device::cuda);
  const Event begin, end;
  check(cudaMemsetAsync(from.data(), 1, static_cast<std::size_t>(bytes), cuda::stream()), "filling device memory");
  double best = 0;
  for (int r = 0; r < repetitions; ++r) {
    check(cudaEventRecord(begin.event, cuda::stream()), "recording an event");
    check(cudaMemcpyAsync(to.data(), from.data(), static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice,
                          cuda::stream()),
          "copying on the device");
    check(cudaEventRecord(end.event, cuda::stream()), "recording an event");
    check(cudaEventSynchronize(end.event), "copying on the device");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin.event, end.event), "reading an event");
    best = std::max(best, 2 * static_cast<double>(bytes) / (1e-3 * milliseconds));
  }
  return best;
}

void* cuda_allocate(std::int64_t bytes) {
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, static_cast<std::size_t>(bytes));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // it is not sticky, and has been dealt with
    return nullptr;
  }
  check(status, "allocating device memory");
  return memory;
}

void cuda_release(void* memory) noexcept { cudaFree(memory); }

void cuda_clear(void* memory, std::int64_t bytes) {
  check(cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes), cuda::stream()), "clearing device memory");
}

int cuda_multiprocessors() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0 ? cuda::multiprocessors() : 0;
}

std::int64_t cuda_available_bytes() {
  std::size_t free_bytes = 0, total_bytes = 0;
  return cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess ? static_cast<std::int64_t>(free_bytes) : 0;
}

void synchronize(Device device) {
  if (device == Device::cuda) check(cudaStreamSynchronize(cuda::stream()), "waiting for the GPU");
}

void copy_bytes(const void* from, Device from_device, void* to, Device to_device, std::int64_t bytes) {
  if (bytes == 0) return;
  if (from_device == Device::host && to_device == Device::host) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return;
  }
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, cuda::stream()), "copying");
  if (from_device != to_device) synchronize(Device::cuda);
}

}  // namespace femcg::operators
