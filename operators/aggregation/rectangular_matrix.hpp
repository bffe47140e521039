#pragma once

#include <cstdint>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// A sparse matrix of any shape in compressed rows (CSR) on one device, columns ascending.
struct RectangularMatrix {
  std::int32_t rows = 0, columns = 0;
  Vector<std::int64_t> row_offsets;  ///< [rows + 1]
  Vector<std::int32_t> column;
  Vector<double> value;

  std::int64_t nonzeros() const { return column.size(); }
  Device device() const { return value.device(); }
};

/// A copy of the matrix on `device`.
RectangularMatrix copied(const RectangularMatrix& matrix, Device device);

/// A', on the device of A.
RectangularMatrix transposed(const RectangularMatrix& matrix);
RectangularMatrix cuda_transposed(const RectangularMatrix& matrix);

/// The diagonal, on the device of A; 0 for a row without diagonal entry.
Vector<double> diagonal_of(const RectangularMatrix& a);
Vector<double> cuda_diagonal_of(const RectangularMatrix& a);

}  // namespace femcg::operators
