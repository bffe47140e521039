#pragma once

namespace femcg::mesh {

/// Improves the tetrahedra of Gmsh's current model (mesh/improve), which are those of a geometry, with straight edges;
/// others, and meshes with other cells as well, stay as they are.
void improve_tetrahedra();

/// Raises the order of all elements, curving them as the geometry is, and improves tetrahedra as they are curved.
void raise_order(int order);

}  // namespace femcg::mesh
