#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "mesh/gmsh/gmsh_reader.hpp"
#include "solver/case/case_reader.hpp"

namespace femcg::solver {

/// What the section `mesh` says of a file; its path is relative to the folder. `conditions` gets those of the groups
/// that have one, as texts.
mesh::GmshOptions read_mesh_file(const MapReader& mesh, const std::filesystem::path& folder,
                                 std::map<std::string, Expression>& conditions);

}  // namespace femcg::solver
