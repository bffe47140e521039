#pragma once

#include <type_traits>
#include <vector>

#include "operators/backend/passes/multi_vector_kernels.hpp"
#include "operators/backend/passes/vector_kernels.hpp"
#include "solver/preconditioners/hierarchy.hpp"

namespace femcg::solver {

/// Multigrid cycles on the levels of a hierarchy, which must outlive this object, with their vectors: Vector, or
/// MultiVector for several right-hand sides.
template <std::floating_point S, template <class> class V>
class Cycle {
 public:
  /// `count`: number of right-hand sides.
  explicit Cycle(const Hierarchy<S>& hierarchy, int count = 1) {
    for (const Level<S>& level : hierarchy.levels) {
      on_.emplace_back(level);
      if (level.is_elsewhere()) continue;
      for (V<S>* vector : {&on_.back().b, &on_.back().x}) *vector = made(level, count);
      if (!level.is_coarsest())
        for (V<S>* vector : {&on_.back().q, &on_.back().d}) *vector = made(level, count);
    }
  }

  /// Right-hand side and solution of the finest level.
  V<S>& b() { return on_.front().b; }
  const V<S>& x() const { return on_.front().x; }
  std::int64_t bytes(std::size_t level) const {
    std::int64_t sum = 0;
    for (const V<S>* vector : {&on_[level].b, &on_[level].x, &on_[level].q, &on_[level].d}) sum += vector->bytes();
    return sum;
  }

  /// x = one cycle's approximation of A^-1 b.
  void run() { descend(0); }
  /// x = full multigrid's approximation of A^-1 b.
  void run_full(int cycles) { start_from_coarser(0, cycles); }

 private:
  /// Vectors of A x = b on a level; q = A x; d: the smoother's step.
  struct OnLevel {
    explicit OnLevel(const Level<S>& of) : level(of) {}
    const Level<S>& level;
    V<S> b, x, q, d;
  };

  static V<S> made(const Level<S>& level, int count) {
    if constexpr (std::is_same_v<V<S>, operators::Vector<S>>) {
      return V<S>(level.a->size(), level.a->device());
    } else {
      V<S> vectors(level.a->size(), count, level.a->device());
      operators::clear(vectors);  // clears the padding, which products may leave unwritten
      return vectors;
    }
  }

  /// x = the cycle's approximation of A^-1 b, starting at this level.
  void descend(std::size_t number) {
    OnLevel& at = on_[number];
    if (at.level.is_elsewhere()) return;
    if (at.level.is_coarsest()) return at.level.a->apply(at.b, at.x);
    smooth_from_zero(at);
    correct(number);
  }

  /// Corrects x, with q = A x, from the next coarser level, and post-smooths.
  void correct(std::size_t number) {
    OnLevel &at = on_[number], &coarse = on_[number + 1];
    at.level.transfer->restrict_residual(at.b, at.q, coarse.b);
    descend(number + 1);
    for (int visit = 1; visit < coarse.level.visits; ++visit) {
      smooth(coarse);
      coarse.level.a->apply(coarse.x, coarse.q);
      correct(number + 1);
    }
    at.level.transfer->add_prolonged(coarse.x, at.x);
    smooth(at);
  }

  /// x = full multigrid's approximation of A^-1 b, starting at this level (Brandt 1977): the prolonged approximation of
  /// the next coarser level, followed by `cycles` cycles. A single cycle leaves up to 20 times the discretisation
  /// error, since a lower degree has 1 / h times the error and aggregates approximate poorly; two leave
  /// a third more than the discretisation error, up to degree 3.
  void start_from_coarser(std::size_t number, int cycles) {
    OnLevel& at = on_[number];
    if (at.level.is_elsewhere()) return;
    if (at.level.is_coarsest()) return at.level.a->apply(at.b, at.x);
    OnLevel& coarse = on_[number + 1];
    for (V<S>* vector : {&at.x, &at.q, &at.d}) operators::clear(*vector);
    at.level.transfer->restrict_residual(at.b, at.q, coarse.b);
    start_from_coarser(number + 1, 2);
    at.level.transfer->add_prolonged(coarse.x, at.x);
    for (int k = 0; k < cycles; ++k) {
      smooth(at);
      at.level.a->apply(at.x, at.q);
      correct(number);
    }
  }

  /// Smoother of a level: steps k = 1 ... Level::smoothing of the Chebyshev iteration of the fourth kind (Lottes 2023,
  /// algorithm 1 with all beta_k = 1),
  ///
  ///     d = (2k - 3) / (2k + 1) d + (8k - 4) / ((2k + 1) lambda) (D^-1 + B) (b - A x),   x += d
  ///
  /// with lambda the largest eigenvalue of (D^-1 + B) A, a lower bound by Lanczos enlarged by a margin. B contains the
  /// inverses of the blocks of bad cells.
  static void smooth(OnLevel& at) { smoothing_steps(at, 1); }
  /// The same from x = 0; leaves q = A x.
  static void smooth_from_zero(OnLevel& at) {
    operators::chebyshev_first(scale(at, 1), at.b, at.level.inverse_diagonal, at.d, at.x);
    add_blocks(at, scale(at, 1), nullptr);
    smoothing_steps(at, 2);
    at.level.a->apply(at.x, at.q);
  }
  static void smoothing_steps(OnLevel& at, int first) {
    for (int k = first; k <= at.level.smoothing; ++k) {
      at.level.a->apply(at.x, at.q);
      const double factor = k == 1 ? 0 : static_cast<double>(2 * k - 3) / (2 * k + 1);
      operators::chebyshev_next(factor, scale(at, k), at.b, at.q, at.level.inverse_diagonal, at.d, at.x);
      add_blocks(at, scale(at, k), &at.q);
    }
  }
  static double scale(const OnLevel& at, int k) {
    constexpr double margin = 1.1;
    return (8 * k - 4) / ((2 * k + 1) * margin * at.level.largest);
  }
  static void add_blocks(OnLevel& at, double factor, const V<S>* q) {
    if (at.level.blocks != nullptr) at.level.blocks->add(static_cast<S>(factor), at.b, q, at.d, at.x);
  }

  std::vector<OnLevel> on_;
};

}  // namespace femcg::solver
