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

/// Input of predictions and of decide() for a case, with `iterations` iterations per load.
PredictionInput prediction_input_of(const SolverChoice& solver, const Problem& problem, operators::Device device,
                                    double iterations = 0);

/// The solver with its preconditioner resolved, and the reason of auto's choice. Throws InputError if the
/// preconditioner is not available.
SolverChoice with_preconditioner(const SolverChoice& solver, std::int64_t unknowns, const Problem& problem,
                                 operators::Device device, int processes, std::string& why);

/// The operator of a run, and its cached tuning from an earlier one.
template <std::floating_point T>
struct RunOperator {
  OperatorChoice op;
  std::unique_ptr<operators::Operator<T>> a;
  std::optional<CachedTuning> kept;
};

/// Makes the operator on the record's device, with cached tuning, and frees its ingredients, except a matrix that
/// tuning may need. `operator: auto` is decide()'s; or matrix-free if that lacks memory or the persistent kernel that
/// the case requires; or csr if operators by cells would lose digits that single precision needs. The record gets
/// memory, times and, for auto, the reason. Throws operators::OutOfMemory, before any large allocation, if the operator
/// would not fit.
template <std::floating_point T>
RunOperator<T> make_operator(const SolverChoice& solver, const Problem& problem, OperatorMaker<T>& maker,
                             const RunContext& context, Record& record);

}  // namespace femcg::solver
