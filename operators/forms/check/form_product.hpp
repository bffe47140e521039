#pragma once

#include <span>
#include <vector>

#include "mesh/base/pages.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// y = A x in double precision straight from the form, nothing stored: what solutions are checked with, on all threads.
/// Several cells at once, one a lane; on tensor cells by sum factorisation (Orszag 1980). It shares no code with the
/// operators of the catalogue, and none with ReferenceOperator but geometry and values on Robin facets.
///
/// Sums are in the order of the cells, the same to the bit for any number of threads.
class FormProduct {
 public:
  explicit FormProduct(const BilinearForm& form) : form_(&form) {}

  /// On all dofs, constrained ones included: a(x, phi_i) for every i. Cells where x is zero are passed over, and,
  /// where `wanted` has an entry for each cell, those with 0.
  mesh::Array<double> apply_to_dofs(std::span<const double> x, std::span<const char> wanted = {}) const;
  /// The same with values of the constrained dofs, number k of which is a dof with -1 - k for its unknown, and 0
  /// elsewhere.
  mesh::Array<double> apply_to_constrained(std::span<const double> values, std::span<const char> wanted) const;
  /// b - A x on the unknowns, constrained dofs zero.
  std::vector<double> residual(std::span<const double> x, std::span<const double> b) const;

 private:
  template <class Coefficient>
  mesh::Array<double> sum(const Coefficient& coefficient, std::span<const char> wanted) const;

  const BilinearForm* form_;
};

}  // namespace femcg::operators
