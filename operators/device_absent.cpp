#include "operators/device.hpp"

#include <stdexcept>

namespace femcg::operators {

bool built_with_cuda() { return false; }

std::vector<DeviceProperties> cuda_devices(std::string* reason) {
  if (reason != nullptr) *reason = "this build has no CUDA";
  return {};
}

double cuda_copy_bandwidth(std::int64_t) { throw std::runtime_error("this build has no CUDA"); }

}  // namespace femcg::operators
