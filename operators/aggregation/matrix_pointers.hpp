#pragma once

#include "operators/aggregation/rectangular_matrix.hpp"

namespace femcg::operators {

/// A matrix as plain pointers, for readers on its device.
struct MatrixPointers {
  explicit MatrixPointers(const RectangularMatrix& matrix)
      : offsets(matrix.row_offsets.data()), column(matrix.column.data()), value(matrix.value.data()) {}

  constexpr std::int64_t length(std::int64_t row) const { return offsets[row + 1] - offsets[row]; }

  const std::int64_t* offsets;
  const std::int32_t* column;
  const double* value;
};

}  // namespace femcg::operators
