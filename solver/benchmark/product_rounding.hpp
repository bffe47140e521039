#pragma once

#include <span>
#include <vector>

#include "operators/forms/bilinear_form.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::solver {

/// Bound on the deviation by rounding of a computed y = A x from the reference, row by row, to first order:
///   |y_i - (A x)_i| <= (u working_i + u_double data_i) terms_i
/// with u the unit roundoff of the operator's working precision, and u_double that of double precision, in which the
/// reference and the operators' data are computed. Derivation: product_rounding.cpp.
struct ProductRounding {
  std::vector<double> terms;          ///< sum of the absolute values of all products, at least |A| |x|
  std::vector<double> working, data;  ///< operations that the products undergo

  double bound(std::size_t i, double unit_roundoff) const;
};

/// For any operator made from a form.
ProductRounding rounding_of_product(const operators::BilinearForm& form, std::span<const double> x);
/// For any operator made from a matrix.
ProductRounding rounding_of_product(const operators::CsrMatrix<double>& matrix, std::span<const double> x);

}  // namespace femcg::solver
