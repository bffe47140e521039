#include "mesh/base/kept_pages.hpp"

#include <malloc.h>

#include <algorithm>

#include "mesh/base/free_memory.hpp"

namespace femcg::mesh {

namespace {

bool keeps_pages = false;

}  // namespace

bool keep_pages() {
  constexpr int never = -1;
  if (!addresses_are_limited()) keeps_pages = mallopt(M_MMAP_MAX, 0) != 0 && mallopt(M_TRIM_THRESHOLD, never) != 0;
  return keeps_pages;
}

std::int64_t kept_bytes() {
  if (!keeps_pages) return 0;
  const struct mallinfo2 heap = mallinfo2();
  // Not all that was freed had been written to, and some may have been given back.
  const std::int64_t resident = resident_memory() - static_cast<std::int64_t>(heap.uordblks);
  return std::clamp<std::int64_t>(resident, 0, static_cast<std::int64_t>(heap.fordblks));
}

void give_back_pages() {
  if (keeps_pages) malloc_trim(0);
}

}  // namespace femcg::mesh
