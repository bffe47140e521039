#pragma once

// Paths of the source tree and the program. Both are compiled in; on a host with the test programs in another place,
// the environment variables FEMCG_SOURCE_DIR and FEMCG_PROGRAM give the paths.

#include <cstdlib>
#include <filesystem>

namespace femcg::tests {

inline std::filesystem::path source_directory() {
  const char* elsewhere = std::getenv("FEMCG_SOURCE_DIR");
  return elsewhere != nullptr ? elsewhere : FEMCG_SOURCE_DIR;
}

/// The femcg program.
inline std::filesystem::path program() {
  const char* elsewhere = std::getenv("FEMCG_PROGRAM");
  return elsewhere != nullptr ? elsewhere : FEMCG_PROGRAM;
}

/// tests/save_by_gmsh.cpp, in the same folder.
inline std::filesystem::path save_by_gmsh() { return program().parent_path() / "save_by_gmsh"; }

}  // namespace femcg::tests
