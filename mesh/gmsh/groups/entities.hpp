#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/gmsh/raw/gmsh_options.hpp"
#include "mesh/gmsh/raw/raw_mesh.hpp"

namespace femcg::mesh {

/// Makes every entity that has cells a region of the mesh, by tag. Rules that match nothing are remarked on.
std::vector<Entity> assign_region_entities(const RawMesh& raw, const GmshOptions& options, Mesh& mesh);

/// Makes every entity that has facets of cells a boundary group of the mesh, by tag, also where they lie between two
/// cells; `node_numbers` is what copy_cells returned. Elements that are no facet of a cell are left out with a warning.
std::vector<Entity> assign_face_entities(const RawMesh& raw, const GmshOptions& options,
                                         std::span<const std::int32_t> node_numbers, Mesh& mesh);

}  // namespace femcg::mesh
