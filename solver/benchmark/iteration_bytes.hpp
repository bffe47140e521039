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

/// Traffic of an iteration, or of two, per unknown: words of the vectors, and how often M^-1 is read (InverseDiagonal).
struct PassBytes {
  std::int64_t words = 0, diagonals = 0;

  template <std::floating_point T>
  std::int64_t bytes() const {
    return words * std::int64_t{sizeof(T)} + diagonals * std::int64_t{sizeof(float)};
  }
};

/// Traffic of two iterations beside their products (operators::VectorKernels). A persistent kernel keeps its vectors in
/// registers. A preconditioner that is not fused has its own, and r'z; a diagonal is read once for all right-hand
/// sides.
template <std::floating_point T>
PassBytes passes_of_two_iterations(const CgResult& result, const Preconditioner<T>& preconditioner,
                                   int right_hand_sides) {
  const bool diagonal = preconditioner.inverse_diagonal() != nullptr;
  const std::int64_t twice = diagonal ? 2 : 0;
  if (result.loop == CgLoop::persistent) return {};
  if (result.loop == CgLoop::fused) return {10, twice};  // beside x and y of the product
  if (result.method == CgMethod::single_reduction) return {18 + 2 * twice, twice};
  if (result.method == CgMethod::pipelined) return {26 + twice, twice};
  const bool block = result.method == CgMethod::block;
  const PreconditionerCost applied = preconditioner.is_fused() ? PreconditionerCost() : preconditioner.cost();
  const std::int64_t more = preconditioner.is_fused() ? 0 : 2 * (applied.words + (block ? 3 : 2));
  return {right_hand_sides * ((block                   ? 22
                               : result.delayed_update ? 15
                                                       : 16) +
                              more),
          2 * twice + 2 * applied.diagonals};
}

/// The least that the passes of one iteration move, of all right-hand sides.
template <std::floating_point T>
std::int64_t bytes_beside_products(const CgResult& result, const Preconditioner<T>& preconditioner,
                                   int right_hand_sides) {
  return passes_of_two_iterations(result, preconditioner, right_hand_sides).template bytes<T>() *
         preconditioner.size() / 2;
}

}  // namespace femcg::solver
