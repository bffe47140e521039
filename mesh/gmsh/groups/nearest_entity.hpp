#pragma once

#include <span>

#include "mesh/gmsh/raw/raw_mesh.hpp"

namespace femcg::mesh {

/// Nearest entity of a dimension, and its distance.
struct Nearest {
  int entity = 0;
  double distance = 0;
  int runner_up = 0;  ///< another entity as near, to 1e-6 of the mesh's extent; 0: none
};

/// Finds the entity whose elements are nearest to a point of 2 or 3 coordinates, among the entities of one dimension
/// (the mesh's or one less); in a 2D mesh the first two coordinates count. Elements are taken as straight between their
/// vertices; the distance to a cell that contains the point is 0. Distance infinity if no element has vertices.
Nearest nearest_entity(const RawMesh& raw, int dimension, std::span<const double> point);

}  // namespace femcg::mesh
