#pragma once

#include <concepts>
#include <cstdint>
#include <memory>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

struct BilinearForm;
struct ElementMatrices;

/// A square matrix in compressed rows (CSR) on the host, columns ascending within a row. The common source of all
/// stored formats.
template <std::floating_point T>
struct CsrMatrix {
  std::int32_t rows = 0;
  Vector<std::int64_t> row_offsets;  ///< [rows + 1]
  Vector<std::int32_t> columns;
  Vector<T> values;

  std::int64_t nonzeros() const { return rows == 0 ? 0 : row_offsets[rows]; }
  std::int64_t bytes() const { return row_offsets.bytes() + columns.bytes() + values.bytes(); }
};

/// Row lengths of a form's matrix, counted before assembly, on the GPU if `device` is one and has the memory. The form
/// must outlive the object.
template <std::floating_point T>
class MatrixRows {
 public:
  explicit MatrixRows(const BilinearForm& form, Device device = Device::host);
  MatrixRows(MatrixRows&&) noexcept;
  ~MatrixRows();
  /// The matrix's row offsets; no columns and no values.
  const CsrMatrix<T>& offsets() const { return offsets_; }
  /// Bytes that assembly takes on the host besides the matrix and the element matrices.
  std::int64_t assembling_bytes() const;

 private:
  template <std::floating_point U>
  friend CsrMatrix<U> assemble(MatrixRows<U>, const ElementMatrices&);

  struct State;
  const BilinearForm* form_;
  std::unique_ptr<State> state_;  ///< null if the GPU counted
  CsrMatrix<T> offsets_;
};

/// A = sum over cells of P_c' K_c P_c on the unknowns of a form: row by row, each from the cells around its unknown, so
/// that threads share nothing and sums have a fixed order.
template <std::floating_point T>
CsrMatrix<T> assemble(MatrixRows<T> rows, const ElementMatrices& element_matrices);
/// The same in one sweep over the rows, without counting entries before; needs the memory of the matrix twice.
template <std::floating_point T>
CsrMatrix<T> assemble(const BilinearForm& form, const ElementMatrices& element_matrices);

/// The pattern of A, without values.
CsrMatrix<double> sparsity_pattern(const BilinearForm& form);

}  // namespace femcg::operators
