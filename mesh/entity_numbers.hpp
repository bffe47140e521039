#pragma once

#include <cstdint>
#include <vector>

#include "mesh/base/pages.hpp"
#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// Numbers of the distinct edges or faces of a mesh.
struct EntityNumbers {
  std::int32_t count = 0;
  Array<std::int32_t> of_cell;  ///< [cells][entities of a cell]
};

/// Numbers the distinct sub-entities of one dimension (1: edges, 2: faces of 3D cells) by their vertices, in parallel.
/// Throws std::length_error if there are more than 2^31 - 1.
EntityNumbers number_entities(const Mesh& mesh, int entity_dimension);

/// Facets that belong to one cell only, in the order of cells and facets; found in parallel. Throws std::runtime_error
/// if a facet belongs to more than two cells.
std::vector<BoundaryFacet> unshared_facets(const Mesh& mesh);

}  // namespace femcg::mesh
