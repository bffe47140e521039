#include "solver/problem/problem_size.hpp"

#include <array>

namespace femcg::solver {

ProblemSize size_of(const Problem& problem) {
  const operators::BilinearForm& form = problem.form();
  const mesh::Mesh& mesh = form.space->mesh();
  std::array<double, 3> counts{static_cast<double>(mesh.cell_count()), static_cast<double>(form.space->dof_count()),
                               static_cast<double>(form.unknowns)};
  if (!problem.shared().neighbours().empty())
    for (std::int32_t dof = 0; dof < form.space->dof_count(); ++dof)
      if (!problem.shared().owns(dof)) {
        --counts[1];
        if (form.unknown_of_dof[dof] >= 0) --counts[2];
      }
  problem.shared().sum(counts);
  const auto count = [&](std::size_t i) { return static_cast<std::int64_t>(counts[i]); };
  return {mesh.dimension(), mesh.shape, count(0), form.space->degree(), mesh.order,
          form.quadrature,  count(1),   count(2), mesh.axisymmetric};
}

}  // namespace femcg::solver
