#include "solver/krylov/iterations_left.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace femcg::solver {

void IterationsLeft::add(double relative_residual) {
  if (!(relative_residual > 0) || !std::isfinite(relative_residual)) return;
  least_ = std::min(least_, relative_residual);
  logarithms_.push_back(std::log(relative_residual));
}

double IterationsLeft::left() const {
  const auto done = static_cast<double>(logarithms_.size());
  const double fallen = std::clamp(std::log(least_) / std::log(tolerance_), 0.0, 1.0);
  // As long as residuals stay where they are, what is left grows with what was done in vain.
  const double before = std::max(expected_ - done, std::max(0.3 * expected_, 1.2 * done) * std::max(1 - fallen, 0.05));
  // The line through the last quarter, by least squares.
  const std::size_t count = logarithms_.size() - 3 * logarithms_.size() / 4, first = logarithms_.size() - count;
  if (count < 3) return before;
  double mean = 0, middle = static_cast<double>(count - 1) / 2, up = 0, down = 0;
  for (std::size_t i = 0; i < count; ++i) mean += logarithms_[first + i] / static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(i) - middle;
    up += x * (logarithms_[first + i] - mean);
    down += x * x;
  }
  const double slope = -up / down;
  const double now = mean - slope * middle;  // the line at the last iteration
  const double by_slope =
      slope > 0 ? std::max(1.0, (now - std::log(tolerance_)) / slope) : std::numeric_limits<double>::infinity();
  constexpr double unlikely = 50;  // times what was done
  if (by_slope > unlikely * done) return before;
  const double weight = std::min(1.0, 1.5 * fallen);
  return std::exp(weight * std::log(by_slope) + (1 - weight) * std::log(before));
}

double IterationsLeft::done() const {
  const auto done = static_cast<double>(logarithms_.size());
  return done / (done + left());
}

}  // namespace femcg::solver
