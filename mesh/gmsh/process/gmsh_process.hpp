#pragma once

#include <cstddef>

#include "mesh/gmsh/raw/gmsh_options.hpp"
#include "mesh/gmsh/raw/meshing_plan.hpp"
#include "mesh/gmsh/raw/raw_mesh.hpp"

namespace femcg::mesh {

/// Reads the mesh, or meshes the geometry, with Gmsh in a process of its own (child_process.hpp), since Gmsh may crash,
/// exit, or use up all memory. Coordinates are multiplied by the factor of the plan. Throws std::runtime_error with one
/// sentence, which does not name the file.
RawMesh gmsh_raw_mesh(const GmshOptions& options, const MeshingPlan& plan, std::size_t declared_partitions = 0);

}  // namespace femcg::mesh
