#pragma once

#include <concepts>
#include <vector>

#include "operators/bilinear_form.hpp"
#include "operators/csr_matrix.hpp"
#include "operators/operator.hpp"

namespace femcg::solver {

/// One product computed independently of every operator, and what its rounding may be.
struct ReferenceProduct {
  std::vector<double> x;      ///< pseudo-random, from -1 to 1, exact in single precision
  std::vector<double> y;      ///< A x
  std::vector<double> scale;  ///< row by row, the sum of the absolute values that are added up to y
};

/// Straight from the quadrature (operators::ReferenceOperator); scale_i = sum_e sum_j |K_e,ij x_j|.
ReferenceProduct reference_product(const operators::BilinearForm& form);
/// Row by row in long double; scale = |A| |x|.
ReferenceProduct reference_product(const operators::CsrMatrix<double>& matrix);

/// The largest |y_i - (A x)_i| / scale_i that rounding explains in this precision: 8000 times its unit roundoff, since
/// what is added up on the way, in K_e as in a matrix-free product, is larger than the terms of the matrix, and cells
/// of a fine mesh are small differences of coordinates (1200 times, degree 4 on 500 x 500 cells).
template <std::floating_point T>
double agreement_bound();

/// The largest |y_i - (A x)_i| / scale_i of an operator's product, and of its energy x'Ax likewise; infinity where
/// something is not finite or was not written.
template <std::floating_point T>
double worst_difference(const operators::Operator<T>& a, const ReferenceProduct& reference);

}  // namespace femcg::solver
