#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// Parts of a mesh for several processes: entry c is the part of cell c, from 0 to `parts` - 1, and parts differ by at
/// most one cell. Where there are fewer cells than parts, the last parts have none.
///
/// Equal pieces of the Hilbert curve through the cells (cells_along_curve).
std::vector<std::int32_t> partition_along_curve(const Mesh& mesh, int parts);

/// By METIS on the graph of cells that share a facet: less surface between parts, which differ by up to 3% of their
/// cells (Karypis & Kumar 1998). The same from run to run. Throws std::invalid_argument in a build without METIS.
std::vector<std::int32_t> partition_by_metis(const Mesh& mesh, int parts);

/// The mesh of some cells of another, in the order of the list, with their regions. Its nodes keep their order among
/// each other, so that dofs on shared edges and faces lie as they did. It has no boundary groups.
Mesh mesh_of_cells(const Mesh& whole, std::span<const std::int32_t> cells);

}  // namespace femcg::mesh
