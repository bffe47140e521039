#pragma once

#include <cstdint>
#include <vector>

namespace femcg::mesh {

/// A target size of the cells at an entity, in the unit of the mesh.
struct EntitySize {
  int dimension, tag;
  double size;
};

/// What Gmsh is to do beside the options.
struct MeshingPlan {
  double factor = 1;              ///< of its coordinates; all sizes are those of the result
  std::vector<EntitySize> sizes;  ///< of the groups that are rules
  bool facets_only = false;       ///< of a geometry: stop before the cells are made
};

/// Throws std::runtime_error if refining that often makes more cells than a mesh can number.
void check_refinement(std::int64_t cells, int dimension, int refinements);

}  // namespace femcg::mesh
