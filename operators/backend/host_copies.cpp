#include "operators/backend/host_copies.hpp"

#include <cstring>

#include "operators/backend/threads/thread_team.hpp"

namespace femcg::operators {

void copy_on_host(const void* from, void* to, std::int64_t bytes) {
  constexpr std::int64_t worth_sharing = 1 << 20, cache_line = 64;
  if (bytes == 0) return;
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  if (bytes < worth_sharing) {
    std::memcpy(target, source, static_cast<std::size_t>(bytes));
    return;
  }
  for_shares([&](int share, int shares) {
    const auto begin_of = [&](int s) { return s == shares ? bytes : bytes / shares * s / cache_line * cache_line; };
    const std::int64_t begin = begin_of(share);
    std::memcpy(target + begin, source + begin, static_cast<std::size_t>(begin_of(share + 1) - begin));
  });
}

}  // namespace femcg::operators
