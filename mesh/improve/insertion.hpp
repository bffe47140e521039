#pragma once

#include <cstdint>

#include "mesh/improve/tetrahedral_mesh.hpp"

namespace femcg::mesh {

/// Splits an edge of a volume or a surface at its midpoint, then swaps and smooths the cells around the new vertex.
/// Does not split edges on curves or curved edges. Undoes everything unless the least quality of the replaced cells
/// rises clearly. Returns true if the edge was split.
bool split_edge(TetrahedralMesh& mesh, std::int32_t a, std::int32_t b);

}  // namespace femcg::mesh
