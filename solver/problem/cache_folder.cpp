#include "solver/problem/cache_folder.hpp"

#include <cstdlib>

namespace femcg::solver {

std::filesystem::path cache_folder() {
  using std::filesystem::path;
  const auto absolute = [](const char* variable) {
    const char* value = std::getenv(variable);
    const path folder = value != nullptr ? value : "";
    return folder.is_absolute() ? folder : path();
  };
  path folder = absolute("XDG_CACHE_HOME");
  if (folder.empty() && !absolute("HOME").empty()) folder = absolute("HOME") / ".cache";
  return folder.empty() ? folder : folder / "femcg";
}

std::filesystem::path cached_file(const char* name) {
  const std::filesystem::path folder = cache_folder();
  return folder.empty() ? folder : folder / name;
}

}  // namespace femcg::solver
