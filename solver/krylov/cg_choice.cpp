#include "solver/krylov/cg_choice.hpp"

#include <array>

#include "solver/krylov/cg.hpp"

namespace femcg::solver {

// In the order of the enumerators.

std::string_view name(CgMethod method) {
  constexpr std::array names{"auto", "classic", "single-reduction", "pipelined", "batched", "block"};
  return names.at(static_cast<std::size_t>(method));
}

std::string_view name(CgLoop loop) {
  constexpr std::array names{"auto", "launched", "resident", "merged"};
  return names.at(static_cast<std::size_t>(loop));
}

std::string_view name(StopReason reason) {
  constexpr std::array names{"converged", "max_iterations", "indefinite", "not_finite", "stagnated", "interrupted"};
  return names.at(static_cast<std::size_t>(reason));
}

}  // namespace femcg::solver
