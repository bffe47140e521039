#pragma once

#include <cstdint>

namespace femcg::mesh {

/// Makes malloc keep freed pages instead of returning them to the kernel (M_MMAP_MAX 0, M_TRIM_THRESHOLD): whoever
/// needs some next finds its pages there, where the kernel would clear each page that it grants, for a good part of a
/// second a gigabyte. Returns whether it does: not where the addresses of the process are limited, and only with glibc
/// 2.33 or newer. For the beginning of a program.
bool retain_pages();
/// Bytes that are kept at least, in pieces.
std::int64_t kept_bytes();
/// Gives the kernel back what is kept.
void return_pages();

}  // namespace femcg::mesh
