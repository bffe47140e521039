#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "mesh/base/atomic_file.hpp"

namespace femcg::solver {

/// Folder for results that later runs reuse: $XDG_CACHE_HOME/femcg, else ~/.cache/femcg; empty if the user has neither.
std::filesystem::path cache_folder();

/// A file in the cache folder; empty if there is no such folder.
std::filesystem::path cached_file(const char* name);

/// Contents of a cached file; empty if it does not exist, cannot be read, or is not a regular file (a link or a pipe).
std::optional<std::vector<char>> cached_content(const std::filesystem::path& file);

/// Writes a cached file, and makes its parent folders. Throws std::system_error like mesh::write_atomically, and if
/// cached_content would not read the file.
void write_cached(const std::filesystem::path& file, const mesh::FileContent& content);
void write_cached(const std::filesystem::path& file, std::string_view content);

}  // namespace femcg::solver
