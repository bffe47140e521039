#pragma once

// solver.precision: mixed, in a run: the operator in single precision beside that in double.

#include <memory>
#include <optional>
#include <string>

#include "solver/krylov/mixed_cg.hpp"
#include "solver/run_operator.hpp"

namespace femcg::solver {

/// The operator of a run once more, in single precision. It is made when CG first wants it, and serves all that
/// follows.
class SingleOperator {
 public:
  /// `seconds`: what making it in double precision took.
  explicit SingleOperator(double seconds) : seconds_(seconds) {}

  /// The system for the rest of CG; nothing where so few iterations are left that making it takes longer than it would
  /// save, or it cannot be had. The record gets a sentence on which it is, and the times.
  std::optional<SingleSystem> system(const Case& resolved, const Problem& problem, const CgResult& so_far, double left,
                                     Progress& progress, Record& record);

 private:
  std::string make(const Case& resolved, const Problem& problem, Progress& progress, Record& record);

  double seconds_;
  bool refused_ = false;
  std::unique_ptr<operators::Operator<float>> a_;
  std::unique_ptr<Preconditioner<float>> preconditioner_;
};

}  // namespace femcg::solver
