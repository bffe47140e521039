#pragma once

#include <vector>

#include "mesh/base/pages.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::operators {

/// The reference that operators and solutions are compared with: y = A x in double precision, cell by cell directly
/// from the quadrature with dense tables, nothing stored, sums in the order of the cells. Independent of all operators
/// of the catalogue.
class ReferenceOperator {
 public:
  explicit ReferenceOperator(const BilinearForm& form) : form_(&form) {}

  /// a(x, phi_i) for all dofs i, constrained ones included.
  mesh::Array<double> apply_to_dofs(std::span<const double> x) const;
  /// A x on the unknowns, with x = 0 at constrained dofs.
  std::vector<double> apply(std::span<const double> x) const;

 private:
  const BilinearForm* form_;
};

}  // namespace femcg::operators
