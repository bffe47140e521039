#pragma once

// First iterations of a run's CG, on its first load, with timing trials.

#include <concepts>
#include <memory>
#include <optional>
#include <vector>

#include "solver/case/case.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/messages/run_context.hpp"
#include "solver/problem/problem.hpp"
#include "solver/records/record.hpp"
#include "solver/run/operator_maker.hpp"
#include "solver/run/run_operator.hpp"
#include "solver/system/linear_system.hpp"

namespace femcg::solver {

/// State of CG on the first load after timing trials.
template <std::floating_point T>
struct Begun {
  CgCheckpoint<T> state;
  std::vector<double> x;
  std::unique_ptr<Preconditioner<T>> preconditioner;  ///< of the selected operator, if made already

  /// True if the selected operator has work left, if only to complete x.
  bool goes_on() const { return state.result.reason == StopReason::max_iterations; }
};

/// True if the case allows CG in one persistent kernel.
bool may_be_persistent(const SolverChoice& solver);

/// Runs the first iterations of CG on the first load as timing trials; returns their state, if there were any.
///
/// Run-time tuning of the operator's open options (Search), if the case asks for it and the solve allows it: each
/// product uses another setting. The operator with the best one replaces `made.a`, and the record lists the trials. One
/// process caches the best setting for later runs. Several processes tune only if requested (solver.tune: on), all with
/// the same setting and by the time of the slowest, and cache nothing: otherwise their results are bitwise
/// reproducible. `input`: of the preconditioner. Collective.
template <std::floating_point T>
std::optional<Begun<T>> begin_with_trials(const SolverChoice& solver, const Problem& problem,
                                          const PreconditionerInput<T>& input, LinearSystem<T>& system,
                                          const OperatorMaker<T>& maker, RunOperator<T>& made,
                                          const RunContext& context, Record& record);

}  // namespace femcg::solver
