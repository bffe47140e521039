#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "mesh/mesh.hpp"

namespace femcg::solver {

/// The key of a mesh of a geometry file: all options that it depends on, the version of what makes it, and the content
/// of the file.
struct MeshKey {
  std::string options;
  std::string content;
};

/// Why the mesh of a geometry file may not be known by its content: a .geo script has a name that is not on the list of
/// those that depend on nothing else (mesh::first_open_name), a STEP file refers to others. Empty where it is.
std::string why_not_cached(const std::filesystem::path& file, const std::string& content);

/// The mesh that is kept under this key in a folder, which a warning then says; else the one that make() makes, which
/// is kept there. A kept mesh that is damaged, or has indices out of range, is made anew, and one that cannot be kept
/// is remarked on; meshes longest unused are removed where all together take more than `most_bytes`.
mesh::Mesh cached_or_made(const std::filesystem::path& folder, const MeshKey& key,
                          const std::function<mesh::Mesh()>& make, std::int64_t most_bytes = std::int64_t{8} << 30);

}  // namespace femcg::solver
