#include "solver/prediction/models/regression.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

namespace femcg::solver {

namespace {

double covariance(const std::vector<double>& a, const std::vector<double>& b, const std::vector<double>& lengths) {
  double sum = 0;
  for (std::size_t axis = 0; axis < lengths.size(); ++axis) {
    const double part = (a[axis] - b[axis]) / lengths[axis];
    sum += part * part;
  }
  const double r = std::sqrt(3 * sum);
  return (1 + r) * std::exp(-r);
}

/// Inverts a symmetric positive definite matrix in place; false if it is not positive definite.
bool invert(Rows& a) {
  const std::size_t n = a.size();
  for (std::size_t j = 0; j < n; ++j) {  // Cholesky factor L, in the lower triangle
    for (std::size_t i = j; i < n; ++i) {
      const double sum =
          a[i][j] - std::inner_product(a[i].begin(), a[i].begin() + static_cast<std::ptrdiff_t>(j), a[j].begin(), 0.0);
      if (i == j && !(sum > 0)) return false;
      a[i][j] = i == j ? std::sqrt(sum) : sum / a[j][j];
    }
  }
  Rows columns(n);  // columns of L^-1, each from its diagonal on
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<double>& column = columns[j];
    column.resize(n - j);
    column[0] = 1 / a[j][j];
    for (std::size_t i = j + 1; i < n; ++i)
      column[i - j] = -std::inner_product(a[i].begin() + static_cast<std::ptrdiff_t>(j),
                                          a[i].begin() + static_cast<std::ptrdiff_t>(i), column.begin(), 0.0) /
                      a[i][i];
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      a[i][j] = a[j][i] = std::inner_product(columns[i].begin(), columns[i].end(),
                                             columns[j].begin() + static_cast<std::ptrdiff_t>(i - j), 0.0);
  return true;
}

/// Result of a choice of lengths and noise.
struct Fitted {
  std::vector<double> weights, errors;
  double score = std::numeric_limits<double>::infinity();  ///< mean of |errors|
};
Fitted fitted(const Rows& points, const std::vector<double>& centred, const std::vector<double>& lengths,
              double noise) {
  const std::size_t n = points.size();
  Rows k(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      k[i][j] = k[j][i] = covariance(points[i], points[j], lengths) + (i == j ? noise : 0);
  Fitted found;
  if (!invert(k)) return found;
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    found.weights.push_back(std::inner_product(k[i].begin(), k[i].end(), centred.begin(), 0.0));
    found.errors.push_back(found.weights[i] / k[i][i]);  // Rasmussen & Williams 2006, eq. 5.12
    sum += std::abs(found.errors[i]);
  }
  found.score = sum / static_cast<double>(n);
  return found;
}

}  // namespace

std::vector<double> nonnegative_least_squares(const Rows& a, const std::vector<double>& b) {
  const std::size_t columns = a.empty() ? 0 : a.front().size();
  // Scales each column to length 1: rows and seconds differ by many powers of ten.
  std::vector<double> scales(columns, 0), c(columns, 0);
  Rows scaled(a.size(), std::vector<double>(columns));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < columns; ++j) scales[j] += std::pow(scaled[i][j] = a[i][j] / b[i], 2);
  for (std::size_t j = 0; j < columns; ++j) {
    scales[j] = std::sqrt(scales[j]);
    for (auto& row : scaled) row[j] = scales[j] > 0 ? row[j] / scales[j] : 0;
  }
  std::vector<double> residuals(a.size(), 1);
  constexpr int sweeps = 5000;
  for (int sweep = 0; sweep < sweeps; ++sweep)
    for (std::size_t j = 0; j < columns; ++j) {  // coordinate descent: the best value of one coefficient
      double slope = 0;
      for (std::size_t i = 0; i < a.size(); ++i) slope += scaled[i][j] * residuals[i];
      const double step = std::max(slope, -c[j]);
      c[j] += step;
      for (std::size_t i = 0; i < a.size(); ++i) residuals[i] -= step * scaled[i][j];
    }
  for (std::size_t j = 0; j < columns; ++j) c[j] = scales[j] > 0 ? c[j] / scales[j] : 0;
  return c;
}

double Kriging::at(const std::vector<double>& point) const {
  double value = mean;
  for (std::size_t i = 0; i < points.size(); ++i) value += weights[i] * covariance(point, points[i], lengths);
  return value;
}

Kriging fit_kriging(const Rows& points, const std::vector<double>& values, std::vector<double>* left_out_errors) {
  Kriging made;
  made.points = points;
  const std::size_t axes = points.front().size();
  const auto count = static_cast<double>(points.size());
  made.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  std::vector<double> centred;
  for (const double value : values) centred.push_back(value - made.mean);
  constexpr double least_deviation = 0.1;
  std::vector<double> deviations;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    double sum = 0, squares = 0;
    for (const auto& point : points) {
      sum += point[axis];
      squares += point[axis] * point[axis];
    }
    // An axis along which the points hardly differ gives no information on points that do.
    deviations.push_back(
        std::max(least_deviation, std::sqrt(std::max(0.0, squares / count - sum / count * (sum / count)))));
  }
  constexpr std::array factors{0.5, 1.0, 2.0, 4.0, 8.0, 16.0};
  constexpr std::array noises{0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0};
  // A subset of the points suffices for the choice.
  constexpr std::size_t enough = 160;
  const std::size_t every = (points.size() + enough - 1) / enough;
  Rows some_points;
  std::vector<double> some_values;
  for (std::size_t i = 0; i < points.size(); i += every) {
    some_points.push_back(points[i]);
    some_values.push_back(centred[i]);
  }
  double noise = 0.1;
  std::vector<double> lengths;
  for (const double deviation : deviations) lengths.push_back(4 * deviation);
  double best = fitted(some_points, some_values, lengths, noise).score;
  const auto take_if_better = [&](const std::vector<double>& tried_lengths, double tried_noise) {
    const double score = fitted(some_points, some_values, tried_lengths, tried_noise).score;
    if (score >= best) return;
    best = score;
    lengths = tried_lengths;
    noise = tried_noise;
  };
  constexpr int sweeps = 3;
  for (int sweep = 0; sweep < sweeps; ++sweep) {  // coordinate search, one parameter after the other
    for (const double tried : noises) take_if_better(lengths, tried);
    for (std::size_t axis = 0; axis < axes; ++axis)
      for (const double factor : factors) {
        std::vector<double> tried = lengths;
        tried[axis] = factor * deviations[axis];
        take_if_better(tried, noise);
      }
  }
  const Fitted all = fitted(points, centred, lengths, noise);
  made.lengths = lengths;
  made.weights = all.weights;
  if (left_out_errors != nullptr) *left_out_errors = all.errors;
  return made;
}

}  // namespace femcg::solver
