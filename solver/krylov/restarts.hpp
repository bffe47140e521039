#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "operators/backend/passes/vector_ownership.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "solver/krylov/cg.hpp"

namespace femcg::solver {

/// v'v over the first `rows` rows.
inline double square(const std::vector<double>& v, std::int64_t rows) {
  return operators::sum_over_row_blocks(rows, operators::EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    return operators::dot_of_rows(v.data(), v.data(), first, last);
  });
}
/// |v| over all processes that share the vector.
inline double norm(const std::vector<double>& v, const operators::VectorOwnership& ownership) {
  return std::sqrt(ownership.sum(square(v, ownership.counted(std::ssize(v)))));
}

/// Reason why CG cannot continue along a direction p with this p'Ap, if any.
inline std::optional<StopReason> breakdown_of_direction(double energy) {
  if (!std::isfinite(energy)) return StopReason::not_finite;
  return energy <= 0 ? std::optional(StopReason::indefinite) : std::nullopt;
}
/// Reason why CG cannot continue from a residual r with these r'M^-1 r and r'r, if any.
inline std::optional<StopReason> breakdown_of_residual(double rz, double rr) {
  if (std::isfinite(rr) && std::isfinite(rz) && rz >= 0) return std::nullopt;
  return rz < 0 ? StopReason::indefinite : StopReason::not_finite;
}

/// Clock of the iteration. It is stopped while true residuals are computed: those check the solution and are no part of
/// the method.
class LoopClock {
 public:
  /// Starts, or resumes from `seconds` seconds.
  void start(double seconds = 0) {
    begin_ = Clock::now() - std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  /// Runs work with the clock stopped.
  template <class Work>
  auto without(const Work& work) {
    const auto before = Clock::now();
    const auto result = work();
    begin_ += Clock::now() - before;
    return result;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_;
};

/// Restarts of CG on one system from its true residuals.
class Restarts {
 public:
  /// True if a further restart, from a residual of this norm, would be useless: a single restart may fail to halve the
  /// residual by chance, in single precision above all; two successive ones indicate rounding.
  bool stagnate(double residual) {
    const bool halved = residual < 0.5 * least_, in_vain = !halved && !last_halved_;
    last_halved_ = halved;
    least_ = std::min(least_, residual);
    return in_vain;
  }

 private:
  double least_ = std::numeric_limits<double>::infinity();
  bool last_halved_ = true;
};

}  // namespace femcg::solver
