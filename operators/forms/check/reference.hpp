#pragma once

#include <vector>

#include "mesh/base/pages.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::operators {

/// The reference that every operator and every solution is measured against: y = A x in double precision, cell by cell
/// straight from the quadrature with dense tables, nothing stored, sums in the order of the cells. Independent of every
/// operator in the catalogue.
class ReferenceOperator {
 public:
  explicit ReferenceOperator(const BilinearForm& form) : form_(&form) {}

  /// On all dofs, constrained ones included: the bilinear form a(x, phi_i) for every i.
  mesh::Array<double> apply_to_dofs(std::span<const double> x) const;
  /// On the unknowns, constrained dofs zero.
  std::vector<double> apply(std::span<const double> x) const;

 private:
  const BilinearForm* form_;
};

}  // namespace femcg::operators
