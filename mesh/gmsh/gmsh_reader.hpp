#pragma once

#include "mesh/gmsh/process/gmsh_version.hpp"
#include "mesh/gmsh/raw/gmsh_options.hpp"

namespace femcg::mesh {

/// Reads a mesh, or meshes a geometry, with the Gmsh SDK, and validates it. The cells of highest dimension form the
/// mesh; physical groups of that dimension become regions, those of one less boundaries, without the facets that lie
/// between two cells. Rules in `groups` add boundaries, and name the regions of the entities that they match instead of
/// the file.
///
/// Coordinates come out in metres, times options.scale. STEP, IGES and universal files state their unit, others are
/// taken to be in metres, which a warning says, unless options.unit names another. Solids that touch are joined. Throws
/// std::runtime_error with one sentence naming the file, what is wrong and what would be right.
///
/// Gmsh works in a process of its own, with the memory that is free and no more, and without means to run programs or to
/// write files: a .geo file is a program, but ends that process at worst.
Mesh read_gmsh(const GmshOptions& options);

/// The same by entities. Rules in `options.groups` that match nothing are remarked on instead.
EntityMesh read_gmsh_entities(const GmshOptions& options);

}  // namespace femcg::mesh
