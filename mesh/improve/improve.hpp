#pragma once

#include "mesh/improve/tetrahedral_mesh.hpp"

namespace femcg::mesh {

/// Opens the dihedral angles of cells that have one below 15 or above 165 degrees, and are flat beside most others, by
/// swaps of edges and facets, by moving vertices, and by splitting edges where that does not do (Freitag &
/// Ollivier-Gooch 1997; Klingner & Shewchuk 2007). Volumes, surfaces and curves of the geometry stay: vertices move on
/// their surface, where its edges are swapped and split too. No step makes the worst angle of the cells that it
/// replaces worse, and the same mesh gives the same one again. Returns whether anything changed.
bool improve(TetrahedralMesh& mesh);

}  // namespace femcg::mesh
