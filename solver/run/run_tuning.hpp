#pragma once

// The first iterations of a run's CG, on its first load, with products that try something.

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

/// The state of CG on the first load after timing trials.
template <std::floating_point T>
struct Begun {
  CgCheckpoint<T> state;
  std::vector<double> x;
  std::unique_ptr<Preconditioner<T>> preconditioner;  ///< of the operator that goes on, where there is one already

  /// True if something is left for the chosen operator, if only to complete x.
  bool goes_on() const { return state.result.reason == StopReason::max_iterations; }
};

/// True if the case allows CG in one persistent kernel.
bool may_be_persistent(const SolverChoice& solver);

/// The first iterations of CG on the first load, whose products try something; where they came to, if they did.
///
/// If a runner-up was made, both operators multiply, and the faster is kept. Run-time tuning of the operator's open
/// options (Search) follows where the case asks for it and the solve allows it: each product is made with another
/// setting. Whoever wins takes the place of `made.a`, and the record says what was tried. One process keeps the best
/// setting for later runs. Several tune only where the case insists on it (solver.tune: on), all with the same setting
/// and by the slowest of them, and keep nothing: from run to run they come to the same bits unless they are asked to
/// tune. `input`: of the preconditioner. Collective.
template <std::floating_point T>
std::optional<Begun<T>> begin_with_trials(const SolverChoice& solver, const Problem& problem,
                                          const PreconditionerInput<T>& input, LinearSystem<T>& system,
                                          const OperatorMaker<T>& maker, MadeOperators<T>& made,
                                          const RunContext& context, Record& record);

}  // namespace femcg::solver
