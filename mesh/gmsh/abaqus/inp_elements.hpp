#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "mesh/gmsh/raw/raw_mesh.hpp"

namespace femcg::mesh {

/// The geometry of an Abaqus element by its type (C3D10M, DC2D4, S3R, T3D2, ...): family and number of nodes; nothing
/// where it has none that a mesh is made of, as springs and masses. Reference nodes are in Abaqus's order.
std::optional<ElementType> inp_element_type(std::string_view type);

/// The element between the first nodes of another one: 2 nodes in a line, 3 or 4 on a face.
ElementType inp_facet_type(int dimension, int corners);

/// Vertices of the faces S1, S2, ... of an element; empty for elements without such faces.
const std::vector<std::vector<int>>& inp_faces(int dimension, int corners);

}  // namespace femcg::mesh
