#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace femcg::mesh {

/// Target cell size at an entity, in the unit of the mesh.
struct EntitySize {
  int dimension, tag;
  double size;
};

/// Instructions for Gmsh in addition to the options.
struct MeshingPlan {
  double factor = 1;              ///< for the coordinates; all sizes refer to the result
  std::vector<EntitySize> sizes;  ///< at groups that are defined by rules
  bool facets_only = false;       ///< for a geometry: stop before the cells are made
  std::int64_t free_memory = std::numeric_limits<std::int64_t>::max();  ///< bytes; a larger mesh is refused
};

}  // namespace femcg::mesh
