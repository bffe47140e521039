#pragma once

#include <concepts>
#include <cstdint>

#include "solver/krylov/cg.hpp"
#include "solver/krylov/preconditioner.hpp"

namespace femcg::solver {

/// Products of one iteration of CG, with those of its preconditioner.
template <std::floating_point T>
std::int64_t products_of_iteration(const Preconditioner<T>& preconditioner) {
  return 1 + (preconditioner.is_fused() ? 0 : preconditioner.cost().products);
}

/// What two iterations move beside their products, in words per unknown (operators::VectorOperations). A loop inside
/// one kernel keeps its vectors in registers. A preconditioner that is not fused has its own, and r'z; a diagonal is
/// read once for all right-hand sides.
template <std::floating_point T>
std::int64_t words_of_two_iterations(const CgResult& result, const Preconditioner<T>& preconditioner,
                                     int right_hand_sides) {
  const bool diagonal = preconditioner.inverse_diagonal() != nullptr;
  if (result.loop == CgLoop::resident) return 0;
  if (result.loop == CgLoop::merged) return 10 + (diagonal ? 2 : 0);  // beside x and y of the product
  if (result.method == CgMethod::single_reduction) return 18 + (diagonal ? 6 : 0);
  if (result.method == CgMethod::pipelined) return 26 + (diagonal ? 4 : 0);
  const bool block = result.method == CgMethod::block;
  const std::int64_t applied = preconditioner.is_fused() ? 0 : 2 * (preconditioner.cost().words + (block ? 3 : 2));
  return right_hand_sides * ((block ? 22 : result.deferred ? 15 : 16) + applied) + (diagonal ? 4 : 0);
}

/// The least that the passes of one iteration move, of all right-hand sides.
template <std::floating_point T>
std::int64_t bytes_beside_products(const CgResult& result, const Preconditioner<T>& preconditioner,
                                   int right_hand_sides) {
  return words_of_two_iterations(result, preconditioner, right_hand_sides) * std::int64_t{sizeof(T)} *
         preconditioner.size() / 2;
}

}  // namespace femcg::solver
