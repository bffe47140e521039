#pragma once

#include <cstdint>

#include "mesh/improve/tetrahedral_mesh.hpp"

namespace femcg::mesh {

/// Puts a vertex into the middle of an edge, of a volume or a surface, and swaps and smooths the cells at it. Edges on
/// curves and bent ones stay. Nothing changes unless the least quality of all cells that go rises well. Returns whether
/// it did.
bool split_edge(TetrahedralMesh& mesh, std::int32_t a, std::int32_t b);

}  // namespace femcg::mesh
