#include "operators/device.hpp"

#include <cstring>
#include <stdexcept>

#include "operators/vector_kernels.hpp"

namespace femcg::operators {

bool built_with_cuda() { return false; }

std::vector<DeviceProperties> cuda_devices(std::string* reason) {
  if (reason != nullptr) *reason = "this build has no CUDA";
  return {};
}

double cuda_copy_bandwidth(std::int64_t) { throw std::runtime_error("this build has no CUDA"); }
void* cuda_allocate(std::int64_t) { throw std::runtime_error("this build has no CUDA"); }
void cuda_release(void*) noexcept {}
void cuda_clear(void*, std::int64_t) {}
std::int64_t cuda_available_bytes() { return 0; }
void synchronize(Device) {}
void copy_bytes(const void* from, Device, void* to, Device, std::int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}
template <std::floating_point T>
const VectorKernels<T>& cuda_vector_kernels() {
  throw std::runtime_error("this build has no CUDA");
}
template const VectorKernels<double>& cuda_vector_kernels();
template const VectorKernels<float>& cuda_vector_kernels();

}  // namespace femcg::operators
