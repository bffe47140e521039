#pragma once

#include <cstdint>
#include <vector>

#include "mesh/base/pages.hpp"
#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// Numbers of the distinct edges or faces of a mesh.
struct EntityNumbers {
  std::int32_t count = 0;
  Array<std::int32_t> of_cell;  ///< cells x entities a cell
};

/// Numbers the distinct sub-entities of one dimension (1: edges, 2: faces of 3D cells) by their vertices. In parallel.
/// Throws std::length_error where there are more than 2^31 - 1.
EntityNumbers number_entities(const Mesh& mesh, int entity_dimension);

/// The facets that one cell alone has, in the order of cells and facets. In parallel. Throws std::runtime_error where
/// one is of more than two cells.
std::vector<BoundaryFacet> unshared_facets(const Mesh& mesh);

}  // namespace femcg::mesh
