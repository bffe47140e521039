#pragma once

#include <cstdint>
#include <limits>

namespace femcg::mesh {

/// What free_memory() answers, or nearly, where nothing limits it.
inline constexpr std::int64_t unlimited_memory = std::numeric_limits<std::int64_t>::max() / 1024 * 1024;

/// Bytes that are free on the machine, in the control group and of the process.
std::int64_t free_memory();

/// Bytes of addresses that this process has reserved.
std::int64_t address_space();

}  // namespace femcg::mesh
