#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/gmsh/raw/gmsh_options.hpp"
#include "mesh/gmsh/raw/raw_mesh.hpp"

namespace femcg::mesh {

/// Makes each entity with cells a region of the mesh, by tag. Rules that match nothing give a warning.
std::vector<Entity> assign_region_entities(const RawMesh& raw, const GmshOptions& options, Mesh& mesh);

/// Makes each entity with facets of cells a boundary group of the mesh, by tag, including facets between two cells.
/// Elements that are no facet of a cell are skipped with a warning. `node_numbers`: the result of copy_cells.
std::vector<Entity> assign_face_entities(const RawMesh& raw, const GmshOptions& options,
                                         std::span<const std::int32_t> node_numbers, Mesh& mesh);

}  // namespace femcg::mesh
