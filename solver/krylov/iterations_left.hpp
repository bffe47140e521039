#pragma once

#include <vector>

#include "solver/krylov/cg.hpp"

namespace femcg::solver {

/// How many iterations CG will still take, from what it waits for so far, residuals and then errors: the slope of their
/// logarithm over the last quarter, and, as long as they have not fallen by two thirds of the orders of magnitude that
/// they have to, what was expected before (the geometric mean of both, weighted by that share). Residuals may stay or
/// rise for long at first. The constants were chosen over the histories of 28 runs, so as to be off by a factor of 1.5
/// seldom.
class IterationsLeft {
 public:
  IterationsLeft(double tolerance, double expected) : tolerance_(tolerance), expected_(expected) {}

  /// After every iteration, from number 0 on.
  void add(const Awaited& awaited);
  double left() const;
  /// The share of all iterations that is done.
  double done() const;

 private:
  struct Fall {
    double least = 1;
    std::vector<double> logarithms;

    void add(double value);
  };

  double left_by(const Fall& fall) const;

  double tolerance_, expected_;
  Fall residuals_, errors_;
};

}  // namespace femcg::solver
