#include "solver/krylov/iterations_left.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace femcg::solver {

void IterationsLeft::Fall::add(double value) {
  if (!(value > 0) || !std::isfinite(value)) return;
  least = std::min(least, value);
  logarithms.push_back(std::log(value));
}

void IterationsLeft::add(const Awaited& awaited) {
  residuals_.add(awaited.residual);
  errors_.add(awaited.energy_error);
}

double IterationsLeft::left() const {
  const bool waits_for_error = !errors_.logarithms.empty() && errors_.logarithms.back() > std::log(tolerance_);
  return std::max(left_by(residuals_), waits_for_error ? left_by(errors_) : 0.0);
}

double IterationsLeft::left_by(const Fall& fall) const {
  const std::vector<double>& logarithms = fall.logarithms;
  const auto done = static_cast<double>(residuals_.logarithms.size());
  const double fallen = std::clamp(std::log(fall.least) / std::log(tolerance_), 0.0, 1.0);
  // While the residual does not fall, the estimate grows with the iterations already made.
  const double before = std::max(expected_ - done, std::max(0.3 * expected_, 1.2 * done) * std::max(1 - fallen, 0.05));
  // Least-squares line through the last quarter.
  const std::size_t count = logarithms.size() - 3 * logarithms.size() / 4, first = logarithms.size() - count;
  if (count < 3) return before;
  double mean = 0, middle = static_cast<double>(count - 1) / 2, up = 0, down = 0;
  for (std::size_t i = 0; i < count; ++i) mean += logarithms[first + i] / static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(i) - middle;
    up += x * (logarithms[first + i] - mean);
    down += x * x;
  }
  const double slope = -up / down;
  const double now = mean - slope * middle;  // the line at the last iteration
  const double by_slope =
      slope > 0 ? std::max(1.0, (now - std::log(tolerance_)) / slope) : std::numeric_limits<double>::infinity();
  constexpr double unlikely = 50;  // multiple of the iterations made
  if (by_slope > unlikely * done) return before;
  const double weight = std::min(1.0, 1.5 * fallen);
  return std::exp(weight * std::log(by_slope) + (1 - weight) * std::log(before));
}

double IterationsLeft::done() const {
  const auto done = static_cast<double>(residuals_.logarithms.size());
  return done / (done + left());
}

}  // namespace femcg::solver
