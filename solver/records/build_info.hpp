#pragma once

#include <string>

namespace femcg::solver {

/// Source and build options of this program.
struct BuildInfo {
  std::string commit;  ///< of git, with "-dirty" where files differ from it; "unknown" outside a repository
  std::string compiler, flags;
};
const BuildInfo& build_info();

}  // namespace femcg::solver
