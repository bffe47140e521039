#pragma once

#include <filesystem>

namespace femcg::solver {

/// Where what one run found out is kept for later ones: $XDG_CACHE_HOME/femcg, else ~/.cache/femcg; empty where the
/// user has neither.
std::filesystem::path cache_folder();

/// A file in it; empty where there is no such folder.
std::filesystem::path cached_file(const char* name);

}  // namespace femcg::solver
