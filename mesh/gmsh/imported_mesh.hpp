#pragma once

#include <cstddef>

#include "mesh/gmsh/raw/gmsh_options.hpp"
#include "mesh/gmsh/raw/raw_mesh.hpp"

namespace femcg::mesh {

/// Mesh from Gmsh's data, not yet validated: the cells of highest dimension, each once, with their regions and the
/// boundaries that options and physical groups name. `declared_nodes`: number in the file, possibly more than Gmsh
/// keeps; nodes that no cell uses are dropped with a warning. Throws std::runtime_error like the functions in
/// raw_mesh.hpp and groups.hpp.
Mesh to_mesh(const RawMesh& raw, const GmshOptions& options, std::size_t declared_nodes = 0);

/// The same by entities instead of groups. Rules that match nothing give a warning.
EntityMesh to_entity_mesh(const RawMesh& raw, const GmshOptions& options, std::size_t declared_nodes = 0);

}  // namespace femcg::mesh
