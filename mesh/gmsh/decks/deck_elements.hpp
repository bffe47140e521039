#pragma once

#include <optional>
#include <vector>

#include "mesh/gmsh/raw/raw_mesh.hpp"

namespace femcg::mesh {

/// Element type with this dimension and number of nodes, in Abaqus's order: vertices, then midpoints of edges. Empty if
/// there is none.
std::optional<ElementType> deck_element_type(int dimension, int nodes, std::string name);

/// Vertices of the faces S1, S2, ... of an element; empty for elements without such faces.
const std::vector<std::vector<int>>& deck_faces(int dimension, int corners);

}  // namespace femcg::mesh
