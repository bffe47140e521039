#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

// What a file tells before Gmsh reads it, and where Gmsh's own words are too few.

namespace femcg::mesh {

/// Whether the file, by its extension, is a mesh already; a geometry otherwise. Throws std::runtime_error, without
/// naming the file, where it is missing, a directory, empty, of an unknown kind or plainly something else than its name
/// says.
bool is_mesh_file(const std::filesystem::path& file);

/// STEP and IGES.
bool states_its_unit(const std::filesystem::path& file);

/// STEP, IGES and BREP.
bool holds_cad_solids(const std::filesystem::path& file);

/// Nodes that a .msh file of format 2 says it has; 0 for the others. Gmsh keeps quiet about those that no element of it
/// uses.
std::size_t declared_nodes(const std::filesystem::path& file);

/// Why Gmsh could not read a .msh file: "line 8: 'one' is not a number", "it ends within $Elements"; empty if that is
/// not it.
std::string defect_of_mesh_file(const std::filesystem::path& file);

}  // namespace femcg::mesh
