#pragma once

#include <cstdint>
#include <limits>

namespace femcg::mesh {

/// Approximate result of free_memory() if nothing limits the memory.
inline constexpr std::int64_t unlimited_memory = std::numeric_limits<std::int64_t>::max() / 1024 * 1024;

/// Bytes available to this process: free on the host, in the control group and under the address limit, plus the pages
/// that malloc retains (kept_bytes).
std::int64_t free_memory();

/// Bytes of address space that this process has reserved, and whether they are limited (ulimit -v).
std::int64_t address_space();
bool addresses_are_limited();
/// Resident memory of this process in bytes, without pages of files.
std::int64_t resident_memory();

}  // namespace femcg::mesh
