#pragma once

#include <concepts>
#include <cstdint>

#include "solver/krylov/cg.hpp"
#include "solver/krylov/preconditioner.hpp"

namespace femcg::solver {

/// Products per iteration of CG, those of its preconditioner included.
template <std::floating_point T>
std::int64_t products_of_iteration(const Preconditioner<T>& preconditioner) {
  return 1 + (preconditioner.is_fused() ? 0 : preconditioner.cost().products);
}

/// Traffic per unknown: words of the vectors, and number of reads of M^-1 (InverseDiagonal).
struct PassBytes {
  std::int64_t words = 0, diagonals = 0;

  template <std::floating_point T>
  std::int64_t bytes() const {
    return words * std::int64_t{sizeof(T)} + diagonals * std::int64_t{sizeof(float)};
  }
};

/// Traffic of two iterations apart from their products (operators::VectorKernels). A persistent kernel holds its
/// vectors in registers. A preconditioner that is not fused adds its own traffic and r'z; a diagonal is read once for
/// all right-hand sides.
template <std::floating_point T>
PassBytes passes_of_two_iterations(const CgResult& result, const Preconditioner<T>& preconditioner,
                                   int right_hand_sides) {
  const bool diagonal = preconditioner.inverse_diagonal() != nullptr;
  const std::int64_t twice = diagonal ? 2 : 0;
  if (result.loop == CgLoop::persistent) return {};
  if (result.loop == CgLoop::fused) return {10, twice};  // in addition to x and y of the product
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

/// Least traffic in bytes of the vector kernels of one iteration, for all right-hand sides.
template <std::floating_point T>
std::int64_t bytes_beside_products(const CgResult& result, const Preconditioner<T>& preconditioner,
                                   int right_hand_sides) {
  return passes_of_two_iterations(result, preconditioner, right_hand_sides).template bytes<T>() *
         preconditioner.size() / 2;
}

}  // namespace femcg::solver
