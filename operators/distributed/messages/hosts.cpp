#include "operators/distributed/messages/hosts.hpp"

#include <algorithm>
#include <fstream>
#include <string>

namespace femcg::operators {

bool on_one_host(const Communicator& communicator) {
  std::string boot;  // differs from host to host and from boot to boot
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  const auto boots = communicator.gathered(boot);
  return std::ranges::all_of(boots, [&](const std::string& other) { return other == boot; });
}

}  // namespace femcg::operators
