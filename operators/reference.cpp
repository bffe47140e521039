#include "operators/reference.hpp"

#include <array>

namespace femcg::operators {

std::vector<double> ReferenceOperator::apply_to_dofs(std::span<const double> x) const {
  const int n = form_->dofs_per_cell();
  return sum_over_cells(*form_, [&](CellEvaluator& evaluator, std::int32_t cell, std::span<double> y) {
    std::array<double, mesh::lattice_size(mesh::CellShape::hexahedron, mesh::max_degree)> from;
    for (int a = 0; a < n; ++a) from[a] = x[form_->space->dofs(cell)[a]];
    evaluator.apply({from.data(), static_cast<std::size_t>(n)}, y);
  });
}

std::vector<double> ReferenceOperator::apply(std::span<const double> x) const {
  const std::vector<std::int32_t>& unknown = form_->unknown_of_dof;
  std::vector<double> on_dofs(unknown.size(), 0.0);
  for (std::size_t dof = 0; dof < unknown.size(); ++dof)
    if (unknown[dof] >= 0) on_dofs[dof] = x[unknown[dof]];
  const std::vector<double> product = apply_to_dofs(on_dofs);
  std::vector<double> y(form_->unknowns);
  for (std::size_t dof = 0; dof < unknown.size(); ++dof)
    if (unknown[dof] >= 0) y[unknown[dof]] = product[dof];
  return y;
}

}  // namespace femcg::operators
