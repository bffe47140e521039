#pragma once

#include "operators/footprint.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::operators {

/// Footprint of a product with a stored matrix of `entries` >= nonzeros values that reads `read_bytes` of its arrays,
/// besides x and y.
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

/// Bytes of a matrix in compressed rows with 32-bit columns and 64-bit offsets.
template <std::floating_point T>
std::int64_t bytes_of_rows(const CsrMatrix<T>& matrix) {
  return matrix.nonzeros() * static_cast<std::int64_t>(sizeof(T) + sizeof(std::int32_t)) + matrix.row_offsets.bytes();
}

}  // namespace femcg::operators
