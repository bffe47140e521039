#pragma once

#include <concepts>

#include "operators/operator.hpp"

namespace femcg::operators {

/// Footprint of a product with x and y of type T, from that of a product with values and vectors of type Value.
template <std::floating_point T, std::floating_point Value>
Footprint with_vectors_of(Footprint footprint, std::int64_t rows) {
  constexpr std::int64_t wider = sizeof(T) - sizeof(Value);
  footprint.moved_bytes += 2 * wider * rows;
  footprint.effective_bytes += wider * (footprint.nonzeros + rows);
  return footprint;
}

}  // namespace femcg::operators
