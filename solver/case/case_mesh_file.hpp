#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "mesh/gmsh/gmsh_reader.hpp"
#include "solver/case/case_reader.hpp"

namespace femcg::solver {

/// Reads the options of a mesh file from section `mesh`; its path is relative to `folder`. `conditions` receives the
/// conditions of groups as text.
mesh::GmshOptions read_mesh_file(const MapReader& mesh, const std::filesystem::path& folder,
                                 std::map<std::string, Expression>& conditions);

}  // namespace femcg::solver
