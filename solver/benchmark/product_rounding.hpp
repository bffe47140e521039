#pragma once

#include <span>
#include <vector>

#include "operators/forms/bilinear_form.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::solver {

/// How far rounding may carry a computed y = A x from the reference, row by row, to first order:
///   |y_i - (A x)_i| <= (u working_i + u_double data_i) terms_i
/// with the unit roundoffs u of the precision that an operator works in, and u_double of double precision, in which the
/// reference is computed and what operators are made from. The derivation stands in product_rounding.cpp.
struct ProductRounding {
  std::vector<double> terms;          ///< absolute values of all products that are added up, no less than |A| |x|
  std::vector<double> working, data;  ///< operations that they meet

  double bound(std::size_t i, double unit_roundoff) const;
};

/// For every operator of the catalogue, made from a form.
ProductRounding rounding_of_product(const operators::BilinearForm& form, std::span<const double> x);
/// For those that are made from a matrix.
ProductRounding rounding_of_product(const operators::CsrMatrix<double>& matrix, std::span<const double> x);

}  // namespace femcg::solver
