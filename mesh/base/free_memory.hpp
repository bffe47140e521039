#pragma once

#include <cstdint>
#include <limits>

namespace femcg::mesh {

/// About what free_memory() returns where nothing limits the memory.
inline constexpr std::int64_t unlimited_memory = std::numeric_limits<std::int64_t>::max() / 1024 * 1024;

/// Bytes that are free on the machine, in the control group and of the process, which may keep some itself
/// (kept_bytes).
std::int64_t free_memory();

/// Bytes of addresses that this process has reserved, and whether it may not have more of them (ulimit -v).
std::int64_t address_space();
bool addresses_are_limited();
/// Bytes of memory that this process has, those of files apart.
std::int64_t resident_memory();

}  // namespace femcg::mesh
