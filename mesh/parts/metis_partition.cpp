#include <metis.h>

#include <new>
#include <numeric>
#include <stdexcept>

#include "mesh/element/reference_cell.hpp"
#include "mesh/parts/partition.hpp"

namespace femcg::mesh {

std::vector<std::int32_t> partition_by_metis(const Mesh& mesh, int parts) {
  std::vector<std::int32_t> part_of(mesh.cell_count(), 0);
  if (parts == 1) return part_of;
  if (mesh.cell_count() <= parts) {  // METIS would leave some parts empty and give others two cells
    std::iota(part_of.begin(), part_of.end(), 0);
    return part_of;
  }
  const std::vector<int> vertices = Lattice(mesh.shape, mesh.order).vertex_nodes();
  std::vector<idx_t> offsets, nodes;
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    offsets.push_back(static_cast<idx_t>(nodes.size()));
    for (const int v : vertices) nodes.push_back(mesh.nodes(cell)[v]);
  }
  offsets.push_back(static_cast<idx_t>(nodes.size()));
  idx_t cells = mesh.cell_count(), node_count = mesh.node_count(), count = parts, cut = 0;
  // Number of vertices of a facet.
  idx_t common = mesh.dimension() == 2 ? 2 : mesh.shape == CellShape::hexahedron ? 4 : 3;
  std::vector<idx_t> options(METIS_NOPTIONS), of_cells(cells), of_nodes(node_count);
  METIS_SetDefaultOptions(options.data());
  options[METIS_OPTION_SEED] = 1;
  const int status = METIS_PartMeshDual(&cells, &node_count, offsets.data(), nodes.data(), nullptr, nullptr, &common,
                                        &count, nullptr, options.data(), &cut, of_cells.data(), of_nodes.data());
  if (status == METIS_ERROR_MEMORY) throw std::bad_alloc();
  if (status != METIS_OK) throw std::runtime_error("METIS could not partition the mesh");
  part_of.assign(of_cells.begin(), of_cells.end());
  return part_of;
}

}  // namespace femcg::mesh
