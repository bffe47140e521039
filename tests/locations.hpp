#pragma once

// Where the tests find the source tree and the program. Both are compiled in; on a machine that has the test programs
// but not at the place where they were built, the environment says where: FEMCG_SOURCE_DIR and FEMCG_PROGRAM.

#include <cstdlib>
#include <filesystem>

namespace femcg::tests {

inline std::filesystem::path source_directory() {
  const char* elsewhere = std::getenv("FEMCG_SOURCE_DIR");
  return elsewhere != nullptr ? elsewhere : FEMCG_SOURCE_DIR;
}

/// The femcg program itself.
inline std::filesystem::path program() {
  const char* elsewhere = std::getenv("FEMCG_PROGRAM");
  return elsewhere != nullptr ? elsewhere : FEMCG_PROGRAM;
}

/// tests/save_by_gmsh.cpp, beside it.
inline std::filesystem::path save_by_gmsh() { return program().parent_path() / "save_by_gmsh"; }

}  // namespace femcg::tests
