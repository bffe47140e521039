#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

// Extensions of the files that a mesh can be read or made from.

namespace femcg::mesh {

inline constexpr std::array<std::string_view, 6> mesh_endings{".msh", ".inp", ".bdf", ".nas", ".unv", ".med"};
inline constexpr std::array<std::string_view, 7> geometry_endings{".geo",  ".geo_unrolled", ".step", ".stp",
                                                                  ".brep", ".iges",         ".igs"};
inline constexpr std::string_view known_endings =
    ".msh, .inp, .bdf, .nas, .unv or .med for a mesh, .geo, .step, .stp, .brep, .iges or .igs for a geometry";

/// File extension in lower case, with its dot.
inline std::string ending_of(const std::filesystem::path& file) {
  std::string ending = file.extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending;
}

/// True if the file's extension is that of a mesh.
inline bool has_mesh_ending(const std::filesystem::path& file) {
  return std::ranges::find(mesh_endings, ending_of(file)) != mesh_endings.end();
}
inline bool has_known_ending(const std::filesystem::path& file) {
  return has_mesh_ending(file) || std::ranges::find(geometry_endings, ending_of(file)) != geometry_endings.end();
}

/// Reason why no mesh can come from a file, judged by its path alone; empty if one may.
inline std::string why_unreadable(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return "there is no such file";
  if (!has_known_ending(file)) return "the file must be " + std::string(known_endings);
  return std::filesystem::is_regular_file(file, ignored) ? "" : "this is not a file";
}

/// True if FILE.opt exists next to a file: options that Gmsh's own programs store and run as a script with the file.
/// femcg never reads it (process/gmsh_process.cpp).
inline bool has_options_beside(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::exists(file.string() + ".opt", ignored);
}

}  // namespace femcg::mesh
