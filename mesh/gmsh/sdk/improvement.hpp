#pragma once

namespace femcg::mesh {

/// Improves the tetrahedra of Gmsh's current model (mesh/improve) if they are linear and belong to a geometry; other
/// meshes, and meshes with other cells as well, are unchanged.
void improve_tetrahedra();

/// Raises the order of all elements, curves them to the geometry, and improves the curved tetrahedra.
void raise_order(int order);

}  // namespace femcg::mesh
