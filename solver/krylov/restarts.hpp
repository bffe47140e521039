#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

#include "operators/backend/passes/vector_share.hpp"
#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::solver {

/// v'v over the first rows.
inline double square(const std::vector<double>& v, std::int64_t rows) {
  return operators::sum_over_row_blocks(rows, operators::EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    return operators::dot_of_rows(v.data(), v.data(), first, last);
  });
}
inline double norm(const std::vector<double>& v) { return std::sqrt(square(v, std::ssize(v))); }
/// The same over all processes that have a share of the vector.
inline double norm(const std::vector<double>& v, const operators::VectorShare& share) {
  return std::sqrt(share.sum(square(v, share.counted(std::ssize(v)))));
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
