#pragma once

#include <cstdint>

namespace femcg::mesh {

/// Makes malloc keep freed pages instead of returning them to the kernel (M_MMAP_MAX 0, M_TRIM_THRESHOLD): later
/// allocations reuse them, whereas the kernel clears every page that it grants, which takes a good part of a second per
/// gigabyte. Returns false, and does nothing, if the address space of the process is limited or glibc is older than
/// 2.33. To be called at the start of a program.
bool retain_pages();
/// Lower bound on the retained bytes, which may be fragmented.
std::int64_t kept_bytes();
/// Returns the retained pages to the kernel.
void return_pages();

}  // namespace femcg::mesh
