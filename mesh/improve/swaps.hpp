#pragma once

#include <cstdint>

#include "mesh/improve/tetrahedral_mesh.hpp"

namespace femcg::mesh {

/// Replaces the cells around an edge by others without it if the least quality rises: 3 by 2, 4 by 4, and so on (edge
/// removal: Shewchuk 2002, Freitag & Ollivier-Gooch 1997). An edge on a smooth surface is swapped there too, which
/// removes a flat cell with two facets on the surface: its other two facets become the surface. Returns true if the
/// edge was removed.
bool remove_edge(TetrahedralMesh& mesh, std::int32_t a, std::int32_t b);
/// The same for the first removable edge of a cell.
bool remove_edge_of(TetrahedralMesh& mesh, std::int32_t cell);

/// Replaces the two cells at the facet of `cell` opposite its vertex `opposite` by three around a new edge if the least
/// quality rises. Returns true if it did.
bool swap_facet(TetrahedralMesh& mesh, std::int32_t cell, int opposite);

}  // namespace femcg::mesh
