#pragma once

#include <filesystem>

// What a file tells before Gmsh reads it.

namespace femcg::mesh {

/// True if the file, by its extension, is a mesh already; a geometry otherwise. Throws std::runtime_error, without
/// naming the file, where it is missing, a directory, empty, of an unknown kind or plainly something else than its name
/// says.
bool is_mesh_file(const std::filesystem::path& file);

/// STEP and IGES.
bool states_its_unit(const std::filesystem::path& file);

bool is_step_file(const std::filesystem::path& file);

/// STEP, IGES and BREP.
bool holds_cad_solids(const std::filesystem::path& file);

/// Throws std::runtime_error, "line 3: ...", where a .geo script has a command that runs programs of the system or
/// writes files, which Gmsh's process cannot (child_process.hpp), or opens a file that has options beside it.
void check_commands(const std::filesystem::path& file);

}  // namespace femcg::mesh
