#include "operators/device.hpp"

namespace femcg::operators {

bool built_with_cuda() { return false; }

std::vector<DeviceProperties> cuda_devices(std::string* reason) {
  if (reason != nullptr) *reason = "this build has no CUDA";
  return {};
}

}  // namespace femcg::operators
