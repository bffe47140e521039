#pragma once

#include <vector>

namespace femcg::solver {

/// How many iterations CG will still take, from the residuals so far: the slope of their logarithm over the last
/// quarter, and, as long as they have not fallen by two thirds of the orders of magnitude that they have to, what was
/// expected before (the geometric mean of both, weighted by that share). Residuals may stay or rise for long at first.
/// The constants were chosen over the histories of 28 runs, so as to be off by a factor of 1.5 seldom.
class IterationsLeft {
 public:
  IterationsLeft(double tolerance, double expected) : tolerance_(tolerance), expected_(expected) {}

  /// Every iteration's |r| / |b|, from number 0 on.
  void add(double relative_residual);
  double left() const;
  /// The share of all iterations that is done.
  double done() const;

 private:
  double tolerance_, expected_, least_ = 1;
  std::vector<double> logarithms_;
};

}  // namespace femcg::solver
