#include "mesh/base/pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

namespace femcg::mesh {

namespace {

constexpr std::uintptr_t large_page = std::uintptr_t{2} << 20;
constexpr std::uintptr_t piece = 8 * large_page;  // fetched by one thread at a time
constexpr int populate_write = 23;  // MADV_POPULATE_WRITE (Linux 5.14), which older C libraries do not name

}  // namespace

void fetch_pages(void* memory, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t begin = (address + large_page - 1) / large_page * large_page,
                       end = (address + bytes) / large_page * large_page;
  if (bytes < 2 * piece) return;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#pragma omp parallel for schedule(dynamic)
  for (std::uintptr_t at = begin; at < end; at += piece)
    madvise(reinterpret_cast<void*>(at), std::min(piece, end - at), populate_write);
}

}  // namespace femcg::mesh
