#pragma once

#include <cstddef>

#include "mesh/gmsh/raw/gmsh_options.hpp"
#include "mesh/gmsh/raw/raw_mesh.hpp"

namespace femcg::mesh {

/// The mesh that Gmsh has: its cells of highest dimension, each once, their regions, and the boundaries that the
/// options and physical groups name. It has yet to be validated. `declared_nodes`: of a file, which may be more than
/// Gmsh keeps; those that no cell uses are left out with a warning. Throws std::runtime_error as the functions in
/// raw_mesh.hpp and groups.hpp do.
Mesh to_mesh(const RawMesh& raw, const GmshOptions& options, std::size_t declared_nodes = 0);

/// The same by entities instead of groups. Rules that match nothing are remarked on.
EntityMesh to_entity_mesh(const RawMesh& raw, const GmshOptions& options, std::size_t declared_nodes = 0);

}  // namespace femcg::mesh
