#pragma once

#include <concepts>
#include <vector>

#include "operators/forms/bilinear_form.hpp"
#include "operators/operator.hpp"
#include "operators/sparse/csr_matrix.hpp"

namespace femcg::solver {

/// One product computed independently of every operator, and what its rounding may be.
struct ReferenceProduct {
  std::vector<double> x;      ///< pseudo-random, from -1 to 1, exact in single precision
  std::vector<double> y;      ///< A x
  std::vector<double> scale;  ///< row by row, the sum of the absolute values that are added up to y
};

/// Straight from the quadrature (operators::ReferenceOperator); scale = sum_c P_c' sum_q |B_q|' |D_q| |B_q| P_c |x|,
/// which no sum_j |A_ij x_j| exceeds and which takes no element matrix.
ReferenceProduct reference_product(const operators::BilinearForm& form);
/// Row by row in long double; scale = |A| |x|.
ReferenceProduct reference_product(const operators::CsrMatrix<double>& matrix);

/// The largest |y_i - (A x)_i| / scale_i that rounding explains in this precision: 8000 times its unit roundoff, since
/// cells of a fine mesh are small differences of coordinates, and the terms of an assembled matrix are not the scale's.
template <std::floating_point T>
double agreement_bound();

/// The largest |y_i - (A x)_i| / scale_i of an operator's product, and of its energy x'Ax likewise; infinity where
/// something is not finite or was not written.
template <std::floating_point T>
double worst_difference(const operators::Operator<T>& a, const ReferenceProduct& reference);

}  // namespace femcg::solver
