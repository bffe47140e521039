#pragma once

#include "operators/vector.hpp"

namespace femcg::operators {

template <std::floating_point T>
struct CsrMatrix;

/// The arrays of a CsrMatrix, all that a conversion on the GPU takes of it.
template <std::floating_point T>
struct CsrArrays {
  const Vector<std::int64_t>* row_offsets;
  const Vector<std::int32_t>* columns;
  const Vector<T>* values;
};

template <std::floating_point T>
CsrArrays<T> arrays_of(const CsrMatrix<T>& matrix) {
  return {&matrix.row_offsets, &matrix.columns, &matrix.values};
}

}  // namespace femcg::operators
