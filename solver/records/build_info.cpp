#include "solver/records/build_info.hpp"

#include "femcg_commit.hpp"  // generated at every build by commit.cmake

namespace femcg::solver {

const BuildInfo& build_info() {
  static const BuildInfo info{FEMCG_COMMIT, FEMCG_COMPILER, FEMCG_FLAGS};
  return info;
}

}  // namespace femcg::solver
