#pragma once

// The operator of a run, named by the case or chosen by `operator: auto`: from the memory estimate to the finished
// operator.

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

/// Input of predictions for a case, with `iterations` iterations per load.
PredictionInput prediction_input_of(const SolverChoice& solver, const Problem& problem, operators::Device device,
                                    double iterations);

/// The solver with its preconditioner resolved, and the reason of auto's choice. Throws InputError if the
/// preconditioner is not available.
SolverChoice with_preconditioner(const SolverChoice& solver, std::int64_t unknowns, const Problem& problem,
                                 operators::Device device, int processes, std::string& why);

/// decide_by_rule for a run.
std::optional<OperatorDecision> decide_by_rule(const SolverChoice& solver, const Problem& problem,
                                               operators::Device device, int processes);

/// Predictions of all operators of a device, for `iterations` iterations per load.
struct OperatorEstimates {
  Rates rates;
  std::vector<Prediction> predictions;
};
template <std::floating_point T>
OperatorEstimates expect(const SolverChoice& solver, const Problem& problem, operators::Device device,
                         std::optional<operators::MatrixRows<T>>& rows, double iterations);

/// Decision of auto if no rule applies, with a runner-up only if loads are solved one after the other.
OperatorDecision decide_for(const SolverChoice& solver, const Problem& problem, operators::Device device,
                            const OperatorEstimates& expected);

/// The operator and, if timing trials are to decide, a runner-up.
template <std::floating_point T>
struct MadeOperators {
  OperatorChoice op;
  std::unique_ptr<operators::Operator<T>> a;
  OperatorChoice runner_up_op;
  std::unique_ptr<operators::Operator<T>> runner_up;
  std::optional<CachedTuning> kept, runner_up_kept;  ///< cached tuning of each, from an earlier run
};

/// Makes the operators on the record's device, with cached tuning, and frees their ingredients, except a matrix that
/// tuning may need. The record gets memory, times and, for auto, the reason. Throws operators::OutOfMemory, before any
/// large allocation, if the operator would not fit.
template <std::floating_point T>
MadeOperators<T> make_operators(const SolverChoice& solver, const Problem& problem, OperatorMaker<T>& maker,
                                const RunContext& context, Record& record);

}  // namespace femcg::solver
