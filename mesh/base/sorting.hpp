#pragma once

#include <compare>
#include <cstdint>

#include "mesh/base/pages.hpp"

namespace femcg::mesh {

/// A number and the key to sort it by. Without a value until it gets one, unlike std::pair.
struct NumberedKey {
  std::uint64_t key;
  std::int32_t number;
  friend auto operator<=>(const NumberedKey&, const NumberedKey&) = default;
};

/// Ascending, by all threads.
Array<NumberedKey> sorted_in_parallel(Array<NumberedKey> keys);

}  // namespace femcg::mesh
