#include "mesh/cells_around.hpp"

#include <algorithm>

#include "mesh/base/counting.hpp"
#include "mesh/element/reference_cell.hpp"

namespace femcg::mesh {

std::vector<std::int32_t> cells_around(const Mesh& mesh, std::span<const std::int32_t> cells) {
  const std::vector<int> vertices = Lattice(mesh.shape, mesh.order).vertex_nodes();
  std::vector<char> is_theirs(static_cast<std::size_t>(mesh.node_count()), 0);
  for (const std::int32_t cell : cells)
    for (const int v : vertices) is_theirs[mesh.nodes(cell)[v]] = 1;
  return collect<std::int32_t>(mesh.cell_count(), [&](std::int64_t number, std::vector<std::int32_t>& found) {
    const auto cell = static_cast<std::int32_t>(number);
    const CellNodes nodes = mesh.nodes(cell);
    if (std::ranges::any_of(vertices, [&](int v) { return is_theirs[nodes[v]] != 0; })) found.push_back(cell);
  });
}

}  // namespace femcg::mesh
