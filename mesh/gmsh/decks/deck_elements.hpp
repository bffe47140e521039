#pragma once

#include <optional>
#include <vector>

#include "mesh/gmsh/raw/raw_mesh.hpp"

namespace femcg::mesh {

/// The element of a dimension and so many nodes, in Abaqus's order: vertices, then the middles of edges. Nothing where
/// there is none.
std::optional<ElementType> deck_element_type(int dimension, int nodes, std::string name);

/// Vertices of the faces S1, S2, ... of an element; empty for elements without such faces.
const std::vector<std::vector<int>>& deck_faces(int dimension, int corners);

}  // namespace femcg::mesh
