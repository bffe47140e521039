#pragma once

#include <string>

namespace femcg::solver {

/// Source version and build options of this program.
struct BuildInfo {
  std::string commit;  ///< git commit, with "-dirty" if files differ from it; "unknown" outside a repository
  std::string compiler, flags;
};
const BuildInfo& build_info();

}  // namespace femcg::solver
