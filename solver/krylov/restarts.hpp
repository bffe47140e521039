#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

#include "operators/backend/parallel_rows.hpp"

namespace femcg::solver {

inline double norm(const std::vector<double>& v) {
  return std::sqrt(operators::sum_over_row_blocks(
      std::ssize(v), operators::EqualRows{},
      [&](std::int64_t first, std::int64_t last) { return operators::dot_of_rows(v.data(), v.data(), first, last); }));
}

/// The restarts of CG on one system from residuals that were recomputed.
class Restarts {
 public:
  /// Whether one more, from a residual of this norm, is in vain: one restart may come at a bad moment, in single
  /// precision above all; two in a row that do not halve the residual are rounding.
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
