#include "solver/problem/unit_boundary.hpp"

#include <span>

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
  const std::vector<double> ones(problem.dirichlet_dofs().size(), 1.0);
  const mesh::Array<char> around =
      operators::cells_at_vertices(*form.space, [&](std::int32_t dof) { return form.unknown_of_dof[dof] < 0; });
  mesh::Array<double> lift = operators::FormProduct(form).apply_to_constrained(ones, around),
                      transfer = transfer_moments(problem);
  UnitBoundary unit;
  unit.reactions.resize(ones.size());
  for (std::size_t k = 0; k < ones.size(); ++k) unit.reactions[k] = lift[problem.dirichlet_dofs()[k].dof];
  problem.shared().add_up(lift);
  problem.shared().add_up(transfer);
  const auto rows_where = [&](bool constrained) {
    return mesh::collect<UnitBoundary::Row>(std::ssize(lift), [&](std::int64_t dof, auto& rows) {
      const std::int32_t unknown = form.unknown_of_dof[dof];
      if ((unknown < 0) == constrained && (lift[dof] != 0 || transfer[dof] != 0))
        rows.push_back({static_cast<std::int32_t>(dof), unknown, lift[dof], transfer[dof]});
    });
  };
  unit.unknowns = rows_where(false);
  unit.constrained = rows_where(true);
  return unit;
}

}  // namespace femcg::solver
