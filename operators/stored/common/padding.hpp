#pragma once

#include <cstdint>

#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::operators {

/// Entries of the longest row; 0 where there is no row.
template <std::floating_point T>
std::int64_t longest_row(const CsrMatrix<T>& matrix);

/// Throws std::invalid_argument where `entries` stored for a matrix take more than 1 GiB beyond its nonzeros and more
/// than four times their number: a sentence that begins with `what` would do so, and names sell.
template <std::floating_point T>
void check_padding(const CsrMatrix<T>& matrix, std::int64_t width, std::int64_t entries, const char* what);

/// The column and the value of entry k of a row. Behind the row's end its last column (an empty row's own) with value
/// 0: a product reads nothing new of x there. Rows beyond the last are empty.
template <std::floating_point T>
struct Entry {
  std::int32_t column;
  T value;
};
template <std::floating_point T>
Entry<T> padded_entry(const CsrMatrix<T>& matrix, std::int64_t row, std::int64_t k) {
  if (row >= matrix.rows) return {matrix.rows - 1, T(0)};
  const std::int64_t begin = matrix.row_offsets[row], end = matrix.row_offsets[row + 1];
  if (begin + k < end) return {matrix.columns[begin + k], matrix.values[begin + k]};
  return {begin < end ? matrix.columns[end - 1] : static_cast<std::int32_t>(row), T(0)};
}

}  // namespace femcg::operators
