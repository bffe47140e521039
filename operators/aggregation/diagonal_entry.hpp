#pragma once

#include "operators/aggregation/matrix_pointers.hpp"

namespace femcg::operators {

struct DiagonalEntry {
  MatrixPointers a;
  double* diagonal;

  constexpr void operator()(std::int64_t row) const {
    diagonal[row] = 0;
    for (std::int64_t k = a.offsets[row]; k < a.offsets[row + 1]; ++k)
      if (a.column[k] == row) diagonal[row] = a.value[k];
  }
};

template <class On>
Vector<double> diagonal_on(const On& on, const RectangularMatrix& a) {
  Vector<double> diagonal(a.rows, On::device);
  on.for_each(a.rows, DiagonalEntry{MatrixPointers(a), diagonal.data()});
  return diagonal;
}

}  // namespace femcg::operators
