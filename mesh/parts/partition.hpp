#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// Partition of a mesh for several processes: entry c is the part of cell c, from 0 to `parts` - 1. Parts differ by at
/// most one cell; with fewer cells than parts, the last parts are empty.
///
/// Equal segments of the Hilbert curve through the cells (cells_along_curve).
std::vector<std::int32_t> partition_along_curve(const Mesh& mesh, int parts);

/// Partition by METIS of the graph of cells that share a facet: less surface between parts, which differ by up to 3% of
/// their cells (Karypis & Kumar 1998). Deterministic. Throws std::invalid_argument in a build without METIS.
std::vector<std::int32_t> partition_by_metis(const Mesh& mesh, int parts);

/// Mesh of some cells of `whole`, in the order of the list, with their regions and without boundary groups. Its nodes
/// keep their order, so that dofs on shared edges and faces keep their positions.
Mesh mesh_of_cells(const Mesh& whole, std::span<const std::int32_t> cells);

}  // namespace femcg::mesh
