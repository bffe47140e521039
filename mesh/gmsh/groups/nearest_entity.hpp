#pragma once

#include <span>

#include "mesh/gmsh/raw/raw_mesh.hpp"

namespace femcg::mesh {

/// The nearest entity of a dimension, and how near it is.
struct Nearest {
  int entity = 0;
  double distance = 0;
  int rival = 0;  ///< another entity as near, to 1e-6 of the extent of the mesh; 0 where there is none
};

/// Of the entities with elements of a dimension, that of the mesh or one less, the one whose elements come nearest to a
/// point of 2 or 3 coordinates; of a mesh in the plane the first two count. Elements are taken as straight between
/// their vertices; the distance to a cell that holds the point is 0. Infinitely far where no element has vertices.
Nearest nearest_entity(const RawMesh& raw, int dimension, std::span<const double> point);

}  // namespace femcg::mesh
