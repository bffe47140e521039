#include "operators/forms/reference.hpp"

#include <array>

#include "mesh/pages.hpp"

namespace femcg::operators {

namespace {

constexpr int most_dofs = mesh::lattice_size(mesh::CellShape::hexahedron, mesh::max_degree);

}  // namespace

std::vector<double> ReferenceOperator::apply_to_dofs(std::span<const double> x) const {
  const auto n = static_cast<std::size_t>(form_->dofs_per_cell());
  return sum_over_cells(*form_, [&](CellEvaluator& evaluator, std::int32_t cell, std::span<double> y) {
    std::array<double, most_dofs> from;
    for (std::size_t a = 0; a < n; ++a) from[a] = x[form_->space->dofs(cell)[a]];
    evaluator.apply({from.data(), n}, y);
  });
}

/// Of the unknowns, sum_c P_c' y_c where of_cell(evaluator, P_c x, y_c) writes a cell's part; constrained dofs are
/// zero.
template <class OfCell>
std::vector<double> ReferenceOperator::sum_over_unknowns(std::span<const double> x, OfCell of_cell) const {
  const auto n = static_cast<std::size_t>(form_->dofs_per_cell());
  const std::vector<double> of_dofs =
      sum_over_cells(*form_, [&](CellEvaluator& evaluator, std::int32_t cell, std::span<double> y) {
        std::array<double, most_dofs> from;
        for (std::size_t a = 0; a < n; ++a) {
          const std::int32_t unknown = form_->unknown(cell, static_cast<int>(a));
          from[a] = unknown >= 0 ? x[unknown] : 0.0;
        }
        of_cell(evaluator, std::span<const double>(from.data(), n), y);
      });
  std::vector<double> y = mesh::filled<double>(form_->unknowns);
#pragma omp parallel for schedule(static)
  for (std::size_t dof = 0; dof < of_dofs.size(); ++dof)
    if (const std::int32_t i = form_->unknown_of_dof[dof]; i >= 0) y[i] = of_dofs[dof];
  return y;
}

std::vector<double> ReferenceOperator::apply(std::span<const double> x) const {
  return sum_over_unknowns(
      x, [](CellEvaluator& evaluator, std::span<const double> from, std::span<double> y) { evaluator.apply(from, y); });
}

std::vector<double> ReferenceOperator::apply_absolute(std::span<const double> x) const {
  return sum_over_unknowns(x, [](CellEvaluator& evaluator, std::span<const double> from, std::span<double> y) {
    evaluator.apply_absolute(from, y);
  });
}

}  // namespace femcg::operators
