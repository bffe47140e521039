#pragma once

#include <vector>

namespace femcg::solver {

using Rows = std::vector<std::vector<double>>;

/// Coefficients c >= 0 that minimise the sum over rows of ((sum of c_j a_ij) / b_i - 1)^2, for b > 0, that is, the
/// relative errors. A column without a positive entry gets 0.
std::vector<double> nonnegative_least_squares(const Rows& a, const std::vector<double>& b);

/// Smooth interpolation of values at scattered points that returns to their mean far from all points (Gaussian process
/// regression, Rasmussen & Williams 2006, section 2.2), with the covariance (1 + r) exp(-r), where r^2 is the sum of 3
/// (distance along an axis / its length)^2.
struct Kriging {
  std::vector<double> lengths;  ///< per axis
  Rows points;
  std::vector<double> weights;  ///< per point
  double mean = 0;

  double at(const std::vector<double>& point) const;
};

/// Chooses the lengths and the noise for which each value is predicted best by the others; `left_out_errors`, if given,
/// receives the resulting errors.
Kriging fit_kriging(const Rows& points, const std::vector<double>& values,
                    std::vector<double>* left_out_errors = nullptr);

}  // namespace femcg::solver
