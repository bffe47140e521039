#pragma once

#include "mesh/gmsh/process/gmsh_version.hpp"
#include "mesh/gmsh/raw/gmsh_options.hpp"

namespace femcg::mesh {

/// Reads a mesh, or meshes a geometry, with the Gmsh SDK, and validates it. The cells of highest dimension form the
/// mesh. Physical groups of that dimension become regions, those of one dimension less become boundaries, without
/// facets between two cells. Rules in `groups` add boundaries, and name the regions of matching entities instead of the
/// file.
///
/// Coordinates are in metres, times options.scale. STEP, IGES and universal files state their unit; others are assumed
/// to be in metres, with a warning, unless options.unit names another. Touching solids are joined. Throws
/// std::runtime_error with one sentence naming the file, the fault and the remedy.
///
/// Gmsh runs in a process of its own, limited to the free memory, which cannot start programs or write files: a .geo
/// file is a program, but can end no more than that process.
Mesh read_gmsh(const GmshOptions& options);

/// The same by entities. Rules in `options.groups` that match nothing give a warning instead of an error.
EntityMesh read_gmsh_entities(const GmshOptions& options);

}  // namespace femcg::mesh
