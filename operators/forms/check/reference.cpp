#include "operators/forms/check/reference.hpp"

#include <array>

#include "mesh/base/pages.hpp"

namespace femcg::operators {

namespace {

constexpr int most_dofs = mesh::lattice_size(mesh::CellShape::hexahedron, mesh::max_degree);

}  // namespace

mesh::Array<double> ReferenceOperator::apply_to_dofs(std::span<const double> x) const {
  const auto n = static_cast<std::size_t>(form_->dofs_per_cell());
  return sum_over_cells(*form_, [&](CellEvaluator& evaluator, std::int32_t cell, std::span<double> y) {
    std::array<double, most_dofs> from;
    for (std::size_t a = 0; a < n; ++a) from[a] = x[form_->space->dofs(cell)[a]];
    evaluator.apply({from.data(), n}, y);
  });
}

std::vector<double> ReferenceOperator::apply(std::span<const double> x) const {
  mesh::Array<double> of_dofs = mesh::array_of<double>(form_->unknown_of_dof.size());
#pragma omp parallel for schedule(static)
  for (std::size_t dof = 0; dof < of_dofs.size(); ++dof)
    if (const std::int32_t i = form_->unknown_of_dof[dof]; i >= 0) of_dofs[dof] = x[i];
  of_dofs = apply_to_dofs(of_dofs);
  std::vector<double> y = mesh::filled<double>(form_->unknowns);
#pragma omp parallel for schedule(static)
  for (std::size_t dof = 0; dof < of_dofs.size(); ++dof)
    if (const std::int32_t i = form_->unknown_of_dof[dof]; i >= 0) y[i] = of_dofs[dof];
  return y;
}

}  // namespace femcg::operators
