#pragma once

#include <cstdint>

#include "mesh/improve/tetrahedral_mesh.hpp"

namespace femcg::mesh {

/// Moves a vertex to where the least quality of the cells at it is greater, by a pattern search (Freitag &
/// Ollivier-Gooch 1997 have the objective): in its volume, or on its surface; vertices on curves stay. Returns whether
/// it moved.
bool smooth_vertex(TetrahedralMesh& mesh, std::int32_t vertex);

}  // namespace femcg::mesh
