#pragma once

#include <algorithm>

#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::operators {

/// a_ii of every row, 0 if it is not stored; on the host.
template <std::floating_point T>
Vector<T> diagonal_of(const CsrMatrix<T>& matrix) {
  Vector<T> diagonal(matrix.rows);
  const std::int32_t* columns = matrix.columns.data();
  const std::int64_t* offsets = matrix.row_offsets.data();
  for_row_blocks(matrix.rows, EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      const std::int32_t* end = columns + offsets[row + 1];
      const std::int32_t* found = std::lower_bound(columns + offsets[row], end, row);
      diagonal[row] = found != end && *found == row ? matrix.values[found - columns] : T(0);
    }
  });
  return diagonal;
}

}  // namespace femcg::operators
