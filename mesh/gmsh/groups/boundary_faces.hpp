#pragma once

#include <cstdint>
#include <span>

#include "mesh/gmsh/raw/gmsh_options.hpp"
#include "mesh/gmsh/raw/raw_mesh.hpp"

namespace femcg::mesh {

/// Raw mesh with added entities for the boundary facets without an element, as for a deck with solids only: facets that
/// meet at an angle below 40 degrees form one face. If a rule's condition holds at only some facets of a face, these
/// form an entity of their own, so that rules select single facets. New tags follow those of the file and do not depend
/// on the rules, except for such parts. `node_numbers`: the result of copy_cells.
RawMesh with_boundary_faces(const RawMesh& raw, const GmshOptions& options, std::span<const std::int32_t> node_numbers,
                            const Mesh& mesh);

}  // namespace femcg::mesh
