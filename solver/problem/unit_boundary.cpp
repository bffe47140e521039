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

/// Integrals of transfer phi_i, of the facets of this process.
mesh::Array<double> transfer_moments(const Problem& problem) {
  const operators::BilinearForm& form = problem.form();
  const mesh::FunctionSpace& space = *form.space;
  const std::size_t n = space.facet_nodes(0).size();
  mesh::Array<double> of_facets = mesh::array_of<double>(form.robin.size() * n);
  operators::for_each_facet(
      space, form.quadrature, form.robin.size(), [&](operators::FacetEvaluator& facet, std::size_t k) {
        const operators::RobinFacet& robin = form.robin[k];
        facet.move_to({robin.cell, robin.facet});
        const std::vector<int>& nodes = space.facet_nodes(robin.facet);
        for (std::size_t i = 0; i < nodes.size(); ++i)
          for (int q = 0; q < facet.points(); ++q)
            of_facets[k * n + i] += robin.transfer[q] * facet.measures()[q] * facet.values()(q, nodes[i]);
      });
  mesh::Array<double> of_dofs = mesh::array_of<double>(space.dof_count());
  for (std::size_t k = 0; k < form.robin.size(); ++k) {
    const auto dofs = space.dofs(form.robin[k].cell);
    const std::vector<int>& nodes = space.facet_nodes(form.robin[k].facet);
    for (std::size_t i = 0; i < nodes.size(); ++i) of_dofs[dofs[nodes[i]]] += of_facets[k * n + i];
  }
  return of_dofs;
}

}  // namespace

UnitBoundary make_unit_boundary(const Problem& problem) {
  const operators::BilinearForm& form = problem.form();
  const operators::SharedDofs& shared = problem.shared();
  UnitBoundary unit;
  mesh::Array<double> lift, transfer;  // empty where there are no such conditions
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
  std::vector<UnitBoundary::Row> rows =
      mesh::collect<UnitBoundary::Row>(form.space->dof_count(), [&](std::int64_t dof, auto& found) {
        const double of_lift = lift.empty() ? 0 : lift[dof], of_transfer = transfer.empty() ? 0 : transfer[dof];
        if (of_lift != 0 || of_transfer != 0)
          found.push_back({static_cast<std::int32_t>(dof), form.unknown_of_dof[dof], of_lift, of_transfer});
      });
  const auto constrained =
      std::ranges::stable_partition(rows, [](const UnitBoundary::Row& row) { return row.unknown >= 0; });
  unit.constrained.assign(constrained.begin(), constrained.end());
  rows.erase(constrained.begin(), constrained.end());
  unit.unknowns = std::move(rows);
  return unit;
}

}  // namespace femcg::solver
