#pragma once

#include <filesystem>

// Properties of a file that are known before Gmsh reads it.

namespace femcg::mesh {

/// True if the file is a mesh by its extension; a geometry otherwise. Throws std::runtime_error, without naming the
/// file, if it is missing, a directory, empty, of an unknown kind, or obviously not of the kind its extension says.
bool is_mesh_file(const std::filesystem::path& file);

/// True for STEP and IGES files.
bool states_its_unit(const std::filesystem::path& file);

bool is_step_file(const std::filesystem::path& file);

/// True for STEP, IGES and BREP files.
bool holds_cad_solids(const std::filesystem::path& file);

/// Throws std::runtime_error, "line 3: ...", if a .geo script has a command that runs programs or writes files, which
/// Gmsh's process cannot do (child_process.hpp), or opens a file with a .opt file next to it.
void check_commands(const std::filesystem::path& file);

}  // namespace femcg::mesh
