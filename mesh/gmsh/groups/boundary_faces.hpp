#pragma once

#include <cstdint>
#include <span>

#include "mesh/gmsh/raw/gmsh_options.hpp"
#include "mesh/gmsh/raw/raw_mesh.hpp"

namespace femcg::mesh {

/// The raw mesh with entities for the boundary facets that no element lies on, as of a deck of solids alone: facets
/// that meet at an angle below 40 degrees are on one face. Where the condition of a rule holds at some facets of a face
/// only, these are an entity of their own, so that rules choose facet by facet. Tags follow those of the file, and do
/// not depend on the rules but for such parts. `node_numbers` is what copy_cells returned.
RawMesh with_boundary_faces(const RawMesh& raw, const GmshOptions& options, std::span<const std::int32_t> node_numbers,
                            const Mesh& mesh);

}  // namespace femcg::mesh
