#include "operators/forms/form_diagonal.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <memory>

#include "mesh/lagrange_basis.hpp"
#include "operators/forms/cells_at_points.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::operators {

namespace {

/// The diagonals of a few cells at a time. Keeps scratch memory: one a thread.
class CellDiagonals {
 public:
  explicit CellDiagonals(const BilinearForm& form)
      : form_(&form),
        d_(form.space->mesh().dimension()),
        dofs_(form.dofs_per_cell()),
        squares_(form.space->basis(), form.quadrature),
        cells_(form.space->mesh(), form.quadrature),
        diffusion_(form, cells_.points()),
        facets_(*form.space, form.quadrature),
        scratch_(squares_.scratch_size()),
        factors_(d_ * (d_ + 1) / 2 * cells_.points()),
        sums_(dofs_) {}

  /// Of the cells [first, last), cells x dofs.
  void write(std::int32_t first, std::int32_t last, double* values) {
    double* to = values;
    for (std::int32_t cell = first; cell < last; cell += cell_lanes) {
      const int count = std::min<std::int32_t>(cell_lanes, last - cell);
      const bool constant = diffusion_.constant(cell, count);
      cells_.move_to(cell, count, !constant);
      diffusion_.move_to(cells_, constant);
      d_ == 2 ? find_factors<2>() : find_factors<3>();
      squares_.sum(factors_.data(), sums_.data(), scratch_.data());
      for (int lane = 0; lane < count; ++lane)
        for (int a = 0; a < dofs_; ++a) *to++ = sums_[a][lane];
    }
    add_robin(first, last, values);
  }

 private:
  /// D = w kappa C C' / |J| with C = |J| J^-1.
  template <int d>
  void find_factors() {
    for (int q = 0; q < cells_.points(); ++q) {
      CellLanes c[d][d];
      const CellLanes determinant = cells_.cofactors(q, c);
      const CellLanes scale = cells_.weights()[q] * diffusion_[q] / determinant;
      int entry = q;
      for (int a = 0; a < d; ++a)
        for (int b = a; b < d; ++b, entry += cells_.points()) {
          CellLanes sum{};
          for (int i = 0; i < d; ++i) sum += c[a][i] * c[b][i];
          factors_[entry] = scale * sum;
        }
    }
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
  int d_, dofs_;
  SquaredGradients squares_;
  CellsAtPoints cells_;
  DiffusionAtPoints diffusion_;
  FacetEvaluator facets_;
  std::vector<CellLanes> scratch_;
  std::vector<CellLanes> factors_;  ///< entries x points
  std::vector<CellLanes> sums_;
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
