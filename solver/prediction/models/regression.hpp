#pragma once

#include <vector>

namespace femcg::solver {

using Rows = std::vector<std::vector<double>>;

/// Coefficients c >= 0 with the least sum over rows of ((sum of c_j a_ij) / b_i - 1)^2, for b > 0: the relative errors
/// count, whatever the size. A column without a positive entry gets 0.
std::vector<double> nonnegative_least_squares(const Rows& a, const std::vector<double>& b);

/// Interpolates values at scattered points, smoothly, and goes back to their mean far from all (Gaussian process
/// regression, Rasmussen & Williams 2006, section 2.2), with the covariance (1 + r) exp(-r), where r^2 is the sum of
/// 3 (distance along an axis / its length)^2.
struct Kriging {
  std::vector<double> lengths;  ///< of each axis
  Rows points;
  std::vector<double> weights;  ///< of each point
  double mean = 0;

  double at(const std::vector<double>& point) const;
};

/// With lengths, and the noise of the values, for which each value is predicted best by the others; `left_out_errors`,
/// where given, gets how far each is then off.
Kriging fit_kriging(const Rows& points, const std::vector<double>& values,
                    std::vector<double>* left_out_errors = nullptr);

}  // namespace femcg::solver
