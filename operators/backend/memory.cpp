#include "operators/backend/memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <stdexcept>

namespace femcg::operators {

namespace {

constexpr std::int64_t large_page = 2 << 20;
constexpr std::int64_t cache_line = 64;
constexpr std::int64_t worth_asking = 64 << 20;  // reading what is available takes as long as filling a megabyte
constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

/// The number after a word of a file, or the first of a file where there is no word; `absent` where there is none.
std::int64_t number_in(const char* file, const std::string& after, std::int64_t absent) {
  std::ifstream stream(file);
  for (std::string word; !after.empty() && stream >> word && word != after;) {
  }
  std::int64_t number = 0;
  return stream >> number ? number : absent;
}

/// Of the process, where they are limited.
std::int64_t addresses_left() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unlimited;
  const std::int64_t used = 1024 * number_in("/proc/self/status", "VmSize:", 0);
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(limit.rlim_cur) - used);
}

std::int64_t available_on_host() {
  const std::int64_t kibibytes =
      std::min(number_in("/proc/meminfo", "MemAvailable:", unlimited / 1024), addresses_left() / 1024);
  const std::int64_t limit = number_in("/sys/fs/cgroup/memory.max", "", unlimited);
  if (limit == unlimited) return kibibytes * 1024;
  // Pages of files that nobody reads any more are the group's, but given up when others need them.
  const std::int64_t used =
      number_in("/sys/fs/cgroup/memory.current", "", 0) - number_in("/sys/fs/cgroup/memory.stat", "inactive_file", 0);
  return std::min(kibibytes * 1024, std::max<std::int64_t>(0, limit - used));
}

void* allocate_on_host(std::int64_t bytes) {
  if (bytes >= worth_asking)
    if (const std::int64_t available = available_on_host(); bytes > available)
      throw OutOfMemory(bytes, available, Device::host);
  const std::int64_t alignment = bytes >= 2 * large_page ? large_page : cache_line;
  const std::int64_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(static_cast<std::size_t>(alignment), static_cast<std::size_t>(rounded));
  if (memory == nullptr) throw OutOfMemory(bytes, available_on_host(), Device::host);
  // A wish, not a need: without large pages all is slower but right.
  if (alignment == large_page) madvise(memory, static_cast<std::size_t>(rounded), MADV_HUGEPAGE);
  return memory;
}

}  // namespace

OutOfMemory::OutOfMemory(std::int64_t asked_bytes, std::int64_t available_bytes, Device device)
    : sentence_(fmt::format("out of memory on the {}: {:.3g} GB are needed in one piece and {:.3g} GB are free",
                            device == Device::host ? "host" : "GPU", 1e-9 * static_cast<double>(asked_bytes),
                            1e-9 * static_cast<double>(available_bytes))) {}

std::int64_t available_bytes(Device device) {
  return device == Device::host ? available_on_host() : cuda_available_bytes();
}

void* allocate_bytes(std::int64_t bytes, Device device) {
  if (bytes < 0) throw std::bad_array_new_length();
  if (bytes == 0) return nullptr;
  if (device == Device::host) return allocate_on_host(bytes);
  void* memory = cuda_allocate(bytes);
  if (memory == nullptr) throw OutOfMemory(bytes, cuda_available_bytes(), Device::cuda);
  return memory;
}

void free_bytes(void* memory, std::int64_t, Device device) noexcept {
  if (device == Device::host)
    std::free(memory);
  else
    cuda_release(memory);
}

}  // namespace femcg::operators
