#pragma once

// The operator of a run: the one that the case names, or what `operator: auto` takes, from the estimate of its memory
// to where it can multiply.

#include <memory>
#include <optional>
#include <string>

#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/case/case.hpp"
#include "solver/messages/run_context.hpp"
#include "solver/prediction/choice.hpp"
#include "solver/problem/problem.hpp"
#include "solver/records/record.hpp"
#include "solver/run/operator_maker.hpp"
#include "solver/tuning/cached_tuning.hpp"

namespace femcg::solver {

/// Input of predictions for a case, in so many iterations a load.
PredictionInput prediction_input_of(const SolverChoice& solver, const Problem& problem, operators::Device device,
                                    double iterations);

/// The solver with a preconditioner by its name, and why auto took it. Throws InputError where there is none such here.
SolverChoice with_preconditioner(const SolverChoice& solver, std::int64_t unknowns, const Problem& problem,
                                 operators::Device device, int processes, std::string& why);

/// The same of a run.
std::optional<OperatorDecision> decide_by_rule(const SolverChoice& solver, const Problem& problem,
                                               operators::Device device, int processes);

/// Predictions of all operators of a device, in so many iterations a load.
struct OperatorEstimates {
  Rates rates;
  std::vector<Prediction> predictions;
};
template <std::floating_point T>
OperatorEstimates expect(const SolverChoice& solver, const Problem& problem, operators::Device device,
                         std::optional<operators::MatrixRows<T>>& rows, double iterations);

/// The decision of auto where no rule tells it, with a runner-up only where loads are solved one after the other.
OperatorDecision decide_for(const SolverChoice& solver, const Problem& problem, operators::Device device,
                            const OperatorEstimates& expected);

/// The operator, and beside it a runner-up where timed products are to decide.
template <std::floating_point T>
struct MadeOperators {
  OperatorChoice op;
  std::unique_ptr<operators::Operator<T>> a;
  OperatorChoice runner_up_op;
  std::unique_ptr<operators::Operator<T>> runner_up;
  std::optional<CachedTuning> kept, runner_up_kept;  ///< tuning by an earlier run that each has
};

/// Makes them on the record's device, with cached tuning, and frees what they were made from, but a matrix that tuning
/// may need. The record gets memory, times and, for auto, why. Throws operators::OutOfMemory before anything large is
/// allocated where the operator would not fit.
template <std::floating_point T>
MadeOperators<T> make_operators(const SolverChoice& solver, const Problem& problem, OperatorMaker<T>& maker,
                                const RunContext& context, Record& record);

}  // namespace femcg::solver
