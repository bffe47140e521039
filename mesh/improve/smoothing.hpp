#pragma once

#include <cstdint>

#include "mesh/improve/tetrahedral_mesh.hpp"

namespace femcg::mesh {

/// Moves a vertex to raise the least quality of its cells, by a pattern search (objective: Freitag & Ollivier-Gooch
/// 1997), within its volume or on its surface; vertices on curves stay. Returns true if the vertex moved.
bool smooth_vertex(TetrahedralMesh& mesh, std::int32_t vertex);

}  // namespace femcg::mesh
