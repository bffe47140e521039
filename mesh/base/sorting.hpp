#pragma once

#include <compare>
#include <cstdint>

#include "mesh/base/pages.hpp"

namespace femcg::mesh {

/// Number with the key to sort it by. Unlike std::pair, uninitialised by default.
struct NumberedKey {
  std::uint64_t key;
  std::int32_t number;
  friend auto operator<=>(const NumberedKey&, const NumberedKey&) = default;
};

/// Sorts in ascending order with all threads.
Array<NumberedKey> sorted_in_parallel(Array<NumberedKey> keys);

}  // namespace femcg::mesh
