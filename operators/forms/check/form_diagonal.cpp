#include "operators/forms/check/form_diagonal.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <memory>

#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "operators/forms/cells_at_points.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::operators {

namespace {

/// Diagonals of the element matrices of a few cells at a time. Keeps scratch memory: one object a thread.
class CellDiagonals {
 public:
  explicit CellDiagonals(const BilinearForm& form)
      : form_(&form),
        dofs_(form.dofs_per_cell()),
        squares_(form.space->basis(), form.quadrature),
        factors_(form),
        facets_(*form.space, form.quadrature),
        scratch_(squares_.scratch_size()),
        sums_(dofs_) {
    const Eigen::VectorXd weights = mesh::cell_quadrature(form.space->mesh().shape, form.quadrature).weights;
    const int points = factors_.points();
    for (int entry = 0; entry < factors_.entries(); ++entry) {
      std::vector<CellLanes> unit(static_cast<std::size_t>(factors_.entries() * points), CellLanes{});
      for (int q = 0; q < points; ++q) unit[entry * points + q] += weights[q] / weights[0];
      squares_.sum(unit.data(), sums_.data(), scratch_.data());
      for (const CellLanes& sum : sums_) of_entries_.push_back(sum[0]);
    }
  }

  /// Writes the diagonals of the cells [first, last), [cells][dofs].
  void write(std::int32_t first, std::int32_t last, double* values) {
    double* to = values;
    for (std::int32_t cell = first; cell < last; cell += cell_lanes) {
      const int count = std::min<std::int32_t>(cell_lanes, last - cell);
      factors_.move_to(cell, count);
      sum();
      for (int lane = 0; lane < count; ++lane)
        for (int a = 0; a < dofs_; ++a) *to++ = sums_[a][lane];
    }
    add_robin(first, last, values);
  }

 private:
  void sum() {
    const CellLanes* factors = factors_.factors().data();
    if (!factors_.constant()) return squares_.sum(factors, sums_.data(), scratch_.data());
    std::ranges::fill(sums_, CellLanes{});
    for (int entry = 0; entry < factors_.entries(); ++entry)
      for (int a = 0; a < dofs_; ++a) sums_[a] += of_entries_[entry * dofs_ + a] * factors[entry * factors_.points()];
  }
  void add_robin(std::int32_t first, std::int32_t last, double* values) {
    const auto before = [](const RobinFacet& facet, std::int32_t cell) { return facet.cell < cell; };
    for (auto facet = std::lower_bound(form_->robin.begin(), form_->robin.end(), first, before);
         facet != form_->robin.end() && facet->cell < last; ++facet) {
      facets_.move_to({facet->cell, facet->facet});
      double* of_cell = values + std::int64_t{facet->cell - first} * dofs_;
      for (const int a : form_->space->facet_nodes(facet->facet))
        for (int q = 0; q < facets_.points(); ++q)
          of_cell[a] += facet->transfer[q] * facets_.measures()[q] * facets_.values()(q, a) * facets_.values()(q, a);
    }
  }

  const BilinearForm* form_;
  int dofs_;
  SquaredGradients squares_;
  FactorsAtPoints factors_;
  FacetEvaluator facets_;
  std::vector<CellLanes> scratch_;
  std::vector<CellLanes> sums_;
  std::vector<double> of_entries_;  ///< [entries][dofs]: diagonal where one entry of D is w_q / w_0, the others 0
};

}  // namespace

Vector<double> diagonal_of_form(const BilinearForm& form) {
  const mesh::Array<double> of_dofs = sum_over_cell_ranges(*form.space, [&]() -> CellRangeWork {
    const auto diagonals = std::make_shared<CellDiagonals>(form);
    return [diagonals](std::int32_t first, std::int32_t last, double* values) {
      diagonals->write(first, last, values);
      return true;
    };
  });
  Vector<double> diagonal(form.unknowns);
#pragma omp parallel for schedule(static)
  for (std::size_t dof = 0; dof < of_dofs.size(); ++dof)
    if (const std::int32_t i = form.unknown_of_dof[dof]; i >= 0) diagonal[i] = of_dofs[dof];
  return diagonal;
}

}  // namespace femcg::operators
