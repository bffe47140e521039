#pragma once

#include <span>

#include "mesh/gmsh/raw/raw_mesh.hpp"

namespace femcg::mesh {

/// The nearest entity of a dimension, and how near it is.
struct Nearest {
  int entity = 0;
  double distance = 0;
  int runner_up = 0;  ///< another entity as near, to 1e-6 of the extent of the mesh; 0 where there is none
};

/// Finds the entity whose elements come nearest to a point of 2 or 3 coordinates, among the entities of a dimension,
/// the mesh's or one less; in a plane mesh the first two coordinates count. Elements are taken as straight between
/// their vertices; the distance to a cell that holds the point is 0. Infinitely far where no element has vertices.
Nearest nearest_entity(const RawMesh& raw, int dimension, std::span<const double> point);

}  // namespace femcg::mesh
