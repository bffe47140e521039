#pragma once

#include "operators/backend/passes/vector_kernels.hpp"
#include "solver/preconditioners/hierarchy.hpp"

namespace femcg::solver {

/// The smoother of a level: steps k = 1 ... Level::smoothing of the Chebyshev iteration of the fourth kind (Lottes
/// 2023, algorithm 1 with all beta_k = 1),
///
///     d = (2k - 3) / (2k + 1) d + (8k - 4) / ((2k + 1) lambda) (D^-1 + B) (b - A x),   x += d
///
/// with lambda the largest eigenvalue of (D^-1 + B) A, from below by Lanczos and therefore with a margin. B has the
/// inverses of the blocks of bad cells.
template <std::floating_point S>
class Smoother {
 public:
  /// From x = 0; leaves q = A x.
  static void start(const Level<S>& level) {
    operators::chebyshev_first(scale(level, 1), level.b, level.inverse_diagonal, level.d, level.x);
    add_blocks(level, scale(level, 1), nullptr);
    steps(level, 2);
    level.a->apply(level.x, level.q);
  }
  /// From the x that there is.
  static void go_on(const Level<S>& level) { steps(level, 1); }

 private:
  static constexpr double margin = 1.1;
  static double scale(const Level<S>& level, int k) { return (8 * k - 4) / ((2 * k + 1) * margin * level.largest); }
  static void steps(const Level<S>& level, int first) {
    for (int k = first; k <= level.smoothing; ++k) {
      level.a->apply(level.x, level.q);
      const double factor = k == 1 ? 0 : static_cast<double>(2 * k - 3) / (2 * k + 1);
      operators::chebyshev_next(factor, scale(level, k), level.b, level.q, level.inverse_diagonal, level.d, level.x);
      add_blocks(level, scale(level, k), &level.q);
    }
  }
  static void add_blocks(const Level<S>& level, double factor, const operators::Vector<S>* q) {
    if (level.blocks != nullptr) level.blocks->add(static_cast<S>(factor), level.b, q, level.d, level.x);
  }
};

template <std::floating_point S>
void correct(const Hierarchy<S>& hierarchy, std::size_t number);

/// x = the cycle's approximation of A^-1 b from level `number` on.
template <std::floating_point S>
void cycle(const Hierarchy<S>& hierarchy, std::size_t number = 0) {
  const Level<S>& level = hierarchy.levels[number];
  if (level.is_elsewhere()) return;
  if (level.is_coarsest()) return level.a->apply(level.b, level.x);
  Smoother<S>::start(level);
  correct(hierarchy, number);
}

/// Corrects x, with q = A x, from the next coarser level, and smooths.
template <std::floating_point S>
void correct(const Hierarchy<S>& hierarchy, std::size_t number) {
  const Level<S>& level = hierarchy.levels[number];
  const Level<S>& coarse = hierarchy.levels[number + 1];
  level.transfer->restrict_residual(level.b, level.q, coarse.b);
  cycle(hierarchy, number + 1);
  for (int visit = 1; visit < coarse.visits; ++visit) {
    Smoother<S>::go_on(coarse);
    coarse.a->apply(coarse.x, coarse.q);
    correct(hierarchy, number + 1);
  }
  level.transfer->add_prolonged(coarse.x, level.x);
  Smoother<S>::go_on(level);
}

/// x = full multigrid's approximation of A^-1 b from level `number` on (Brandt 1977): that of the next coarser level,
/// prolonged, and some cycles. One is too few, as a lower degree has 1 / h times the error, and aggregates approximate
/// little: it leaves up to 20 times the discretisation's error. Two leave a third more than that error, up to degree 3.
template <std::floating_point S>
void full_multigrid(const Hierarchy<S>& hierarchy, std::size_t number = 0, int cycles = 2) {
  const Level<S>& level = hierarchy.levels[number];
  if (level.is_elsewhere()) return;
  if (level.is_coarsest()) return level.a->apply(level.b, level.x);
  const Level<S>& coarse = hierarchy.levels[number + 1];
  for (operators::Vector<S>* vector : {&level.x, &level.q, &level.d}) operators::clear(*vector);
  level.transfer->restrict_residual(level.b, level.q, coarse.b);
  full_multigrid(hierarchy, number + 1);
  level.transfer->add_prolonged(coarse.x, level.x);
  for (int k = 0; k < cycles; ++k) {
    Smoother<S>::go_on(level);
    level.a->apply(level.x, level.q);
    correct(hierarchy, number);
  }
}

}  // namespace femcg::solver
