#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "mesh/base/atomic_file.hpp"

namespace femcg::solver {

/// The folder that keeps what one run found out for later ones: $XDG_CACHE_HOME/femcg, else ~/.cache/femcg; empty where
/// the user has neither.
std::filesystem::path cache_folder();

/// A file in it; empty where there is no such folder.
std::filesystem::path cached_file(const char* name);

/// The content of a file there; nothing where there is none, it cannot be read, or something else than a regular file
/// has its name: a link, or a pipe.
std::optional<std::vector<char>> cached_content(const std::filesystem::path& file);

/// Writes a file there, and the folders above it. Throws std::system_error as mesh::write_atomically does, and where
/// cached_content would not read the file.
void write_cached(const std::filesystem::path& file, const mesh::FileContent& content);
void write_cached(const std::filesystem::path& file, std::string_view content);

}  // namespace femcg::solver
