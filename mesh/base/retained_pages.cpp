#include "mesh/base/retained_pages.hpp"

#include <malloc.h>

#include <algorithm>

#include "mesh/base/free_memory.hpp"

namespace femcg::mesh {

namespace {

bool retains_pages = false;

}  // namespace

bool retain_pages() {
  constexpr int never = -1;
  if (!addresses_are_limited()) retains_pages = mallopt(M_MMAP_MAX, 0) != 0 && mallopt(M_TRIM_THRESHOLD, never) != 0;
  return retains_pages;
}

std::int64_t kept_bytes() {
  if (!retains_pages) return 0;
  const struct mallinfo2 heap = mallinfo2();
  // Part of the freed memory was never written to, and part may have been returned to the kernel.
  const std::int64_t resident = resident_memory() - static_cast<std::int64_t>(heap.uordblks);
  return std::clamp<std::int64_t>(resident, 0, static_cast<std::int64_t>(heap.fordblks));
}

void return_pages() {
  if (retains_pages) malloc_trim(0);
}

}  // namespace femcg::mesh
