#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace femcg::mesh {

/// A target size of the cells at an entity, in the unit of the mesh.
struct EntitySize {
  int dimension, tag;
  double size;
};

/// Instructions for Gmsh beside the options.
struct MeshingPlan {
  double factor = 1;              ///< of its coordinates; all sizes are those of the result
  std::vector<EntitySize> sizes;  ///< of the groups that are rules
  bool facets_only = false;       ///< of a geometry: stop before the cells are made
  std::int64_t free_memory = std::numeric_limits<std::int64_t>::max();  ///< bytes; more cells are not begun
};

}  // namespace femcg::mesh
