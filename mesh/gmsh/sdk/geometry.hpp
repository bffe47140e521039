#pragma once

#include <string>
#include <vector>

#include "mesh/gmsh/raw/gmsh_options.hpp"
#include "mesh/gmsh/raw/meshing_plan.hpp"

namespace femcg::mesh {

/// Reads a geometry into the current Gmsh session and meshes it according to the options: size, shape, refinements,
/// order.
void mesh_geometry(const GmshOptions& options, const MeshingPlan& plan, std::vector<std::string>& warnings);

}  // namespace femcg::mesh
