#pragma once

#include <string>

namespace femcg::mesh {

/// True if this build can read and make meshes with Gmsh.
bool gmsh_available();
/// Version of the Gmsh library. Loads it; throws std::runtime_error if it cannot be loaded.
std::string gmsh_version();
/// Version of Gmsh's interface that this build was compiled for; libraries of one interface differ only in patch
/// version.
std::string gmsh_interface_version();

}  // namespace femcg::mesh
