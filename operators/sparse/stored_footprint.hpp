#pragma once

#include "operators/operator.hpp"
#include "operators/sparse/operator_bytes.hpp"

namespace femcg::operators {

/// The cost of a product with a stored matrix that holds `entries` >= nonzeros values and reads `read_bytes` of what it
/// stores, x and y apart.
template <std::floating_point T>
Footprint stored_footprint(std::int64_t rows, std::int64_t nonzeros, std::int64_t entries, std::int64_t stored_bytes,
                           std::int64_t read_bytes) {
  constexpr std::int64_t word = sizeof(T), index = sizeof(std::int32_t);
  Footprint footprint;
  footprint.stored_bytes = stored_bytes;
  footprint.moved_bytes = read_bytes + 2 * word * rows;
  footprint.effective_bytes = nonzeros * (2 * word + index) + rows * (word + index);
  footprint.flops = 2 * nonzeros;
  footprint.nonzeros = nonzeros;
  footprint.padding_ratio = nonzeros > 0 ? static_cast<double>(entries) / static_cast<double>(nonzeros) : 1.0;
  return footprint;
}

/// The memory of a format that is converted where it is used: on a GPU beside a copy of the assembled matrix.
template <std::floating_point T>
OperatorBytes converted_bytes(const Extent<T>& of, const Footprint& footprint) {
  return {.stored = footprint.stored_bytes, .making = of.device == Device::cuda ? bytes_of_rows(*of.matrix) : 0};
}

}  // namespace femcg::operators
