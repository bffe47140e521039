#pragma once

#include <cstdint>

#include "mesh/improve/tetrahedral_mesh.hpp"

namespace femcg::mesh {

/// Replaces the cells around an edge by others without it, where the least quality rises: 3 by 2, 4 by 4, and so on
/// (edge removal: Shewchuk 2002, Freitag & Ollivier-Gooch 1997). The edge may lie on a smooth surface, of which it is
/// then swapped too: so a flat cell with two facets on the surface goes, its other two taking their place. Returns
/// whether it did.
bool remove_edge(TetrahedralMesh& mesh, std::int32_t a, std::int32_t b);
/// The same for the first edge of a cell that can go.
bool remove_edge_of(TetrahedralMesh& mesh, std::int32_t cell);

/// Replaces the two cells at a facet of a cell, which lies opposite its vertex number `opposite`, by three around a new
/// edge, where the least quality rises. Returns whether it did.
bool swap_facet(TetrahedralMesh& mesh, std::int32_t cell, int opposite);

}  // namespace femcg::mesh
