#pragma once

#include "mesh/improve/tetrahedral_mesh.hpp"

namespace femcg::mesh {

/// Improves cells with a dihedral angle below 15 or above 165 degrees that are flat compared with most others: by swaps
/// of edges and facets, by moving vertices, and otherwise by splitting edges (Freitag & Ollivier-Gooch 1997; Klingner &
/// Shewchuk 2007). Preserves volumes, surfaces and curves of the geometry: vertices move on their surface, and edges on
/// it are swapped and split too. No step lowers the worst quality of the cells that it replaces; the result is
/// deterministic. Returns true if anything changed.
bool improve(TetrahedralMesh& mesh);

}  // namespace femcg::mesh
