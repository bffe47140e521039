#pragma once

#include <string>

namespace femcg::mesh {

/// True where this build can read and make meshes with Gmsh.
bool gmsh_available();
/// Version of the Gmsh library, which is loaded for it. Throws std::runtime_error where it cannot be loaded.
std::string gmsh_version();
/// Version of Gmsh's interface that this build was compiled for; libraries of one interface differ in patches at most.
std::string gmsh_interface_version();

}  // namespace femcg::mesh
