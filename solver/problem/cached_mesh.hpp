#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "mesh/mesh.hpp"

namespace femcg::solver {

/// Key of the mesh of a geometry file: all options that affect it, the version of the mesher, and the content of the
/// file.
struct MeshKey {
  std::string options;
  std::string content;
};

/// Reason why the mesh of a geometry file may depend on more than its content: a .geo script contains a name that is
/// not known to be self-contained (mesh::first_open_name), or a STEP file refers to others. Empty if there is none.
std::string why_not_cached(const std::filesystem::path& file, const std::string& content);

/// The mesh cached under this key in a folder, with a warning that says so; else the mesh of make(), which is then
/// cached. A cached mesh that is damaged or has invalid indices is made anew; a mesh that cannot be cached gives a
/// warning. The least recently used meshes are removed if all together exceed `most_bytes`.
mesh::Mesh cached_or_made(const std::filesystem::path& folder, const MeshKey& key,
                          const std::function<mesh::Mesh()>& make, std::int64_t most_bytes = std::int64_t{8} << 30);

}  // namespace femcg::solver
