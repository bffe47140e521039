#include "mesh/kept_pages.hpp"

#include <malloc.h>

#include "mesh/free_memory.hpp"

namespace femcg::mesh {

namespace {

bool keeps_pages = false;

}  // namespace

bool keep_pages() {
  constexpr int never = -1;
  if (!addresses_are_limited()) keeps_pages = mallopt(M_MMAP_MAX, 0) != 0 && mallopt(M_TRIM_THRESHOLD, never) != 0;
  return keeps_pages;
}

std::int64_t kept_bytes() { return keeps_pages ? static_cast<std::int64_t>(mallinfo2().fordblks) : 0; }

void give_back_pages() {
  if (keeps_pages) malloc_trim(0);
}

}  // namespace femcg::mesh
