// Build information that fuzzers do not need: commit and flags.
#include "solver/records/build_info.hpp"

namespace femcg::solver {

const BuildInfo& build_info() {
  static const BuildInfo info{"unknown", "unknown", "unknown"};
  return info;
}

}  // namespace femcg::solver
