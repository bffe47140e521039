#include "solver/measures/terminals.hpp"

#include <cstddef>

namespace femcg::solver {

std::vector<std::vector<double>> matrix_of_terminals(const Problem& problem, std::span<const BoundaryFlux> fluxes) {
  const operators::BilinearForm& form = problem.form();
  const std::size_t count = fluxes.size();
  std::vector<double> sums(count * count);
  for (std::size_t f = 0; f < problem.boundary().size(); ++f) {
    const ConditionedFacet& at = problem.boundary()[f];
    if (at.insulated() || at.kind != BoundaryKind::value) continue;
    const mesh::CellDofs dofs = form.space->dofs(at.facet.cell);
    const std::vector<int>& nodes = form.space->facet_nodes(at.facet.facet);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const auto number = static_cast<std::size_t>(-1 - form.unknown_of_dof[dofs[nodes[n]]]);
      for (std::size_t i = 0; i < count; ++i)
        if (const double value = problem.loads()[i].boundary_values()[number]; value != 0)
          for (std::size_t j = 0; j < count; ++j) sums[i * count + j] += value * fluxes[j].moments(f)[n];
    }
  }
  problem.shared().sum(sums);
  std::vector<std::vector<double>> matrix(count);
  for (std::size_t k = 0; k < sums.size(); ++k) matrix[k / count].push_back(problem.data().symmetry * sums[k]);
  return matrix;
}

}  // namespace femcg::solver
