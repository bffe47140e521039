#pragma once

#include <concepts>

#include "operators/aggregation/rectangular_matrix.hpp"
#include "operators/forms/element_matrices.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::operators {

/// True if a GPU is in use and has memory for the element matrices of a form and for their assembly.
bool can_assemble_on_gpu(const BilinearForm& form);

/// Assembles A on the GPU from element matrices there: row by row, in the same order of sums as assemble() on the host.
RectangularMatrix cuda_assemble(const BilinearForm& form, const ElementMatrices& matrices);

/// The row offsets of A only, on the GPU.
Vector<std::int64_t> cuda_row_offsets(const BilinearForm& form);

/// A copy on the host, in precision T, of a square matrix on either device.
template <std::floating_point T>
CsrMatrix<T> on_host(const RectangularMatrix& matrix);

/// The matrix of a form on the host, assembled on the GPU.
template <std::floating_point T>
CsrMatrix<T> assembled_by_gpu(const BilinearForm& form) {
  return on_host<T>(cuda_assemble(form, cuda_element_matrices(form)));
}

}  // namespace femcg::operators
