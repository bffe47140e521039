#pragma once

#include <Eigen/Core>

#include "operators/forms/element_matrices.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::tests {

/// Assembled matrix A of a form.
inline Eigen::MatrixXd dense_matrix(const operators::BilinearForm& form) {
  const operators::CsrMatrix<double> matrix =
      operators::assemble<double>(form, operators::assemble_element_matrices(form));
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(matrix.rows, matrix.rows);
  for (std::int32_t i = 0; i < matrix.rows; ++i)
    for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k)
      a(i, matrix.columns[k]) = matrix.values[k];
  return a;
}

}  // namespace femcg::tests
