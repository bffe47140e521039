#include "solver/krylov/cg_choice.hpp"

#include <array>

#include "solver/krylov/cg.hpp"

namespace femcg::solver {

namespace {

/// The name of an enumerator, by its number.
template <class Enum, std::size_t count>
std::string_view name_in(const std::array<std::string_view, count>& names, Enum value) {
  return names.at(static_cast<std::size_t>(value));
}

}  // namespace

std::string_view name(CgMethod method) {
  static constexpr std::array<std::string_view, 6> names{"auto",      "classic", "single-reduction",
                                                         "pipelined", "batched", "block"};
  return name_in(names, method);
}

std::string_view name(CgLoop loop) {
  static constexpr std::array<std::string_view, 4> names{"auto", "launched", "resident", "merged"};
  return name_in(names, loop);
}

std::string_view name(StopReason reason) {
  static constexpr std::array<std::string_view, 6> names{"converged",  "max_iterations", "indefinite",
                                                         "not_finite", "stagnated",      "interrupted"};
  return name_in(names, reason);
}

}  // namespace femcg::solver
