#pragma once

// Sliced ELLPACK as cuSPARSE wants it, packed on the GPU: a thread a position moves its row, so that neighbouring
// threads write neighbouring entries.

#include <cstdint>

#include "operators/backend/launch.cuh"

namespace femcg::operators::cuda {

template <class T, class Index>
struct SlicedEll {
  std::int64_t rows, height;
  const Index* offsets;  ///< of slices
  Index* columns;
  T* values;
};

/// Rows in another order, and with them columns.
struct RowOrder {
  const std::int32_t* row_at;       ///< the row at each position; null where rows keep their order
  const std::int32_t* position_of;  ///< the inverse
};

/// Moves the row at a position from compressed rows, and pads it with zeros at column -1. `From` has `offsets`,
/// `columns` and `values`.
template <class From, class T, class Index>
__device__ void pack_row(std::int64_t position, const From& from, RowOrder order, const SlicedEll<T, Index>& to) {
  const std::int64_t slice = position / to.height, end = to.offsets[slice + 1];
  std::int64_t k = 0, row_end = 0;
  if (position < to.rows) {
    const std::int64_t row = order.row_at != nullptr ? order.row_at[position] : position;
    k = from.offsets[row];
    row_end = from.offsets[row + 1];
  }
  for (std::int64_t at = to.offsets[slice] + position % to.height; at < end; at += to.height, ++k) {
    const std::int32_t column = k < row_end ? from.columns[k] : -1;
    to.columns[at] = column >= 0 && order.position_of != nullptr ? order.position_of[column] : column;
    to.values[at] = k < row_end ? from.values[k] : T(0);
  }
}

}  // namespace femcg::operators::cuda
