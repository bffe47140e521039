#include <fmt/format.h>

#include <stdexcept>

#include "mesh/gmsh/gmsh_reader.hpp"

// Stub of gmsh_reader.cpp for a build without the Gmsh SDK.

namespace femcg::mesh {

bool gmsh_available() { return false; }

std::string gmsh_version() { return {}; }

std::string gmsh_interface_version() { return {}; }

namespace {

[[noreturn]] void refuse(const GmshOptions& options) {
  throw std::runtime_error(fmt::format(
      "{}: this build has no Gmsh and makes only `box` meshes; install the Gmsh SDK (on Debian: apt install "
      "libgmsh-dev) and configure again with -DFEMCG_GMSH=ON",
      options.file.string()));
}

}  // namespace

Mesh read_gmsh(const GmshOptions& options) { refuse(options); }

EntityMesh read_gmsh_entities(const GmshOptions& options) { refuse(options); }

}  // namespace femcg::mesh
