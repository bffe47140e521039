#pragma once

#include <algorithm>
#include <vector>

#include "mesh/base/pages.hpp"
#include "mesh/dofs/function_space.hpp"
#include "mesh/element/lagrange_basis.hpp"

namespace femcg::operators {

/// [cells]: 1 for each cell with a dof at a vertex for which `is_one(dof)` holds. If the dofs are those of whole
/// facets, with their vertices, these are all cells with such a dof.
template <class IsOne>
mesh::Array<char> cells_at_vertices(const mesh::FunctionSpace& space, const IsOne& is_one) {
  const std::vector<int> vertices = space.basis().lattice().vertex_nodes();
  mesh::Array<char> found = mesh::unset<char>(static_cast<std::size_t>(space.mesh().cell_count()));
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < space.mesh().cell_count(); ++cell) {
    const mesh::CellDofs dofs = space.dofs(cell);
    found[cell] = std::ranges::any_of(vertices, [&](int a) { return is_one(dofs[a]); }) ? 1 : 0;
  }
  return found;
}

}  // namespace femcg::operators
