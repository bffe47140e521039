#include "mesh/base/free_memory.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "mesh/base/retained_pages.hpp"

namespace femcg::mesh {

namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

/// Number that follows the word `after` in a file, or the file's first number if `after` is empty; `absent` if not
/// found.
std::int64_t number_in(const char* file, const std::string& after, std::int64_t absent) {
  std::ifstream stream(file);
  for (std::string word; !after.empty() && stream >> word && word != after;) {
  }
  std::int64_t number = 0;
  return stream >> number ? number : absent;
}

std::int64_t limit_of_addresses() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unlimited;
  return static_cast<std::int64_t>(limit.rlim_cur);
}

/// Bytes that the process may still reserve under its address limit (ulimit -v).
std::int64_t addresses_left() {
  const std::int64_t limit = limit_of_addresses();
  return limit == unlimited ? unlimited : std::max<std::int64_t>(0, limit - address_space());
}

/// Bytes free for this process outside its own heap: the least of the host's, the address limit's and the control
/// group's.
std::int64_t free_of_others() {
  const std::int64_t kibibytes =
      std::min(number_in("/proc/meminfo", "MemAvailable:", unlimited / 1024), addresses_left() / 1024);
  const std::int64_t limit = number_in("/sys/fs/cgroup/memory.max", "", unlimited);
  if (limit == unlimited) return kibibytes * 1024;
  // The control group counts inactive file pages as used, but the kernel reclaims them on demand.
  const std::int64_t used =
      number_in("/sys/fs/cgroup/memory.current", "", 0) - number_in("/sys/fs/cgroup/memory.stat", "inactive_file", 0);
  return std::min(kibibytes * 1024, std::max<std::int64_t>(0, limit - used));
}

}  // namespace

bool addresses_are_limited() { return limit_of_addresses() != unlimited; }

std::int64_t address_space() { return 1024 * number_in("/proc/self/status", "VmSize:", 0); }
std::int64_t resident_memory() { return 1024 * number_in("/proc/self/status", "RssAnon:", 0); }

std::int64_t free_memory() {
  const std::int64_t others = free_of_others();
  return others >= unlimited_memory ? others : others + kept_bytes();
}

}  // namespace femcg::mesh
