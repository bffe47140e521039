#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "operators/operator.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/krylov/preconditioner.hpp"

namespace femcg::solver {

/// How far all systems of a group are.
struct BatchedIteration {
  std::int64_t number;
  int running;               ///< systems that are not done
  double relative_residual;  ///< the largest of theirs
  double seconds;            ///< since the loop began
};

template <std::floating_point T>
struct BatchedCgOptions {
  double tolerance = 1e-8;  ///< on |r| / |b| of every system
  std::int64_t max_iterations = 10000;
  const Preconditioner<T>* preconditioner = nullptr;  ///< null: none
  std::int64_t check_every = 0;                       ///< as CgOptions::check_every
  /// b - A x of a system, recomputed in double precision. By default the operator's own product.
  std::function<std::vector<double>(std::size_t system, const std::vector<double>& x)> true_residual;
  /// Told of every iteration; false ends the loop of all systems as interrupted.
  std::function<bool(const BatchedIteration&)> monitor;
};

/// Preconditioned conjugate gradients for A x_c = b_c from x_c = 0, for several right-hand sides: independent
/// recurrences, whose products are made together (operators::Columns), and of which each ends as it would alone, for
/// reasons of its own; see conjugate_gradients. All in the natural order of the unknowns.
///
/// More systems than Columns::most are solved in turns. A system that is done is frozen: its steps have length zero.
/// Once all that are left fit into half of the columns, the others are dropped, and cost nothing any more. What does
/// not meet the tolerance when its residual is recomputed restarts, with the others of which that is true, when all
/// have ended.
///
/// Of each result `seconds` is the system's share: the time of an iteration is divided among those that run.
template <std::floating_point T>
std::vector<CgResult> batched_conjugate_gradients(const operators::Operator<T>& a,
                                                  std::span<const operators::Vector<T>> b,
                                                  std::vector<std::vector<double>>& x,
                                                  const BatchedCgOptions<T>& options);

}  // namespace femcg::solver
