#pragma once

#include <cstdint>

namespace femcg::mesh {

/// Has the process keep memory that is freed: whoever needs some next finds its pages there, where the kernel would
/// clear each page that it grants, for a good part of a second a gigabyte. Returns whether it does: not where the
/// addresses of the process are limited, and only with glibc 2.33 or newer. For the beginning of a program.
bool keep_pages();
/// Bytes that are kept at least, in pieces.
std::int64_t kept_bytes();
/// Gives the kernel back what is kept.
void give_back_pages();

}  // namespace femcg::mesh
