#include "solver/problem/unit_boundary.hpp"

#include <algorithm>
#include <utility>

#include "mesh/base/counting.hpp"
#include "mesh/base/pages.hpp"
#include "operators/forms/cells_at_vertices.hpp"
#include "operators/forms/check/form_product.hpp"
#include "operators/forms/element_matrices.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

namespace {

/// Integrals of transfer phi_i over the facets of this process.
mesh::Array<double> transfer_moments(const Problem& problem) {
  const operators::BilinearForm& form = problem.form();
  std::vector<mesh::BoundaryFacet> facets;
  for (const operators::RobinFacet& robin : form.robin) facets.push_back({robin.cell, robin.facet});
  mesh::Array<double> of_dofs = mesh::array_of<double>(form.space->dof_count());
  operators::add_facet_moments(
      *form.space, form.quadrature, facets,
      [&](const operators::FacetEvaluator&, std::size_t k, std::span<double> values) {
        std::ranges::copy(form.robin[k].transfer, values.begin());
      },
      of_dofs);
  return of_dofs;
}

}  // namespace

UnitBoundary make_unit_boundary(const Problem& problem) {
  const operators::BilinearForm& form = problem.form();
  const operators::SharedDofs& shared = problem.shared();
  UnitBoundary unit;
  mesh::Array<double> lift, transfer;  // empty without such conditions
  if (shared.any(!problem.dirichlet_dofs().empty())) {
    const std::vector<double> ones(problem.dirichlet_dofs().size(), 1.0);
    lift = operators::FormProduct(form).apply_to_constrained(
        ones,
        operators::cells_at_vertices(*form.space, [&](std::int32_t dof) { return form.unknown_of_dof[dof] < 0; }));
    unit.reactions.resize(ones.size());
    for (std::size_t k = 0; k < ones.size(); ++k) unit.reactions[k] = lift[problem.dirichlet_dofs()[k].dof];
    shared.add_up(lift);
  }
  if (shared.any(!form.robin.empty())) {
    transfer = transfer_moments(problem);
    shared.add_up(transfer);
  }
  if (lift.empty() && transfer.empty()) return unit;
  const auto rows = [&](bool constrained) {
    return mesh::collect<UnitBoundary::Row>(form.space->dof_count(), [&](std::int64_t dof, auto& found) {
      const std::int32_t unknown = form.unknown_of_dof[dof];
      if ((unknown < 0) != constrained) return;
      const double of_lift = lift.empty() ? 0 : lift[dof], of_transfer = transfer.empty() ? 0 : transfer[dof];
      if (of_lift != 0 || of_transfer != 0)
        found.push_back({static_cast<std::int32_t>(dof), unknown, of_lift, of_transfer});
    });
  };
  unit.unknowns = rows(false);
  unit.constrained = rows(true);
  return unit;
}

}  // namespace femcg::solver
