#include "solver/run/run_operator.hpp"
#include "solver/messages/do_on_all.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "operators/backend/memory.hpp"
#include "operators/catalogue.hpp"
#include "solver/case/case_keys.hpp"
#include "solver/messages/refusal.hpp"
#include "solver/messages/stopwatch.hpp"
#include "solver/prediction/iterations.hpp"
#include "solver/prediction/models/bandwidth_model.hpp"
#include "solver/problem/number_range.hpp"
#include "solver/run/distributed_setup.hpp"
#include "solver/tuning/tunable.hpp"

namespace femcg::solver {

using operators::Device;
using operators::MatrixRows;
using operators::Needs;

PredictionInput prediction_input_of(const SolverChoice& solver, const Problem& problem, Device device,
                                    double iterations) {
  return {.device = device,
          .form = &problem.form(),
          .preconditioner = find_preconditioner(solver.preconditioner.name),
          .method = solver.method,
          .loop = solver.loop,
          .systems = static_cast<std::int64_t>(problem.loads().size()),
          .iterations = iterations,
          .available = operators::available_bytes};
}

SolverChoice with_preconditioner(const SolverChoice& solver, std::int64_t unknowns, const Problem& problem,
                                 Device device, int processes, std::string& why) {
  SolverChoice settled = solver;
  if (solver.preconditioner.name != automatic_preconditioner) {
    const std::string why_none = why_not(*find_preconditioner(solver.preconditioner.name), device, processes);
    if (!why_none.empty()) throw InputError(at_place(solver.preconditioner.place, why_none));
    return settled;
  }
  const PreconditionerDecision decision =
      solver.full_multigrid
          ? PreconditionerDecision{"multigrid", "multigrid, which solver.initial: full-multigrid begins with"}
          : decide_preconditioner(unknowns, std::ssize(problem.loads()), &problem.form(), device, processes,
                                  why_diagonal(solver.method, solver.loop));
  settled.preconditioner.name = decision.name;
  why = decision.why;
  return settled;
}

std::optional<OperatorDecision> decide_by_rule(const SolverChoice& solver, const Problem& problem, Device device,
                                               int processes) {
  std::optional<OperatorDecision> decision = decide_by_rule({.form = &problem.form(),
                                                             .loads = std::ssize(problem.loads()),
                                                             .preconditioner = solver.preconditioner.name,
                                                             .loop = solver.loop,
                                                             .device = device,
                                                             .processes = processes});
  if (decision) decision->named.place = solver.op.place;
  return decision;
}

template <std::floating_point T>
OperatorEstimates expect(const SolverChoice& solver, const Problem& problem, Device device,
                         std::optional<MatrixRows<T>>& rows, double iterations) {
  OperatorEstimates expected{rates_of(device), {}};
  if (!expected.rates.known()) return expected;
  const BandwidthModel model(expected.rates);
  expected.predictions =
      predict_all<T>(prediction_input_of(solver, problem, device, iterations), model, expected.rates, rows);
  return expected;
}

OperatorDecision decide_for(const SolverChoice& solver, const Problem& problem, Device device,
                            const OperatorEstimates& expected) {
  const Place& place = solver.op.place;
  return placed(place, [&] {
    if (!expected.rates.known())
      return OperatorDecision{.named = {std::string(operator_of_options), {}, place},
                              .why = "csr stands for any, since the machine's speeds could not be measured"};
    OperatorDecision decision = decide(expected.predictions);
    const MemoryUser user = user_of(solver, problem, device, decision.named);
    if (decision.runner_up && user.takes_all(problem.form().unknowns)) {
      decision.runner_up.reset();
      decision.why = decision.expected + ", and products of several loads at once are not tried";
    }
    if (decision.runner_up && expected.predictions[decision.first].persistent) {
      decision.runner_up.reset();
      decision.why = decision.expected + ", and a persistent kernel is not begun with trials";
    }
    return decision;
  });
}

namespace {

/// Operators that a run is to make.
struct Candidates {
  OperatorChoice op;
  std::optional<OperatorChoice> runner_up;  ///< if timing trials are to decide
  std::string expected, why;                ///< OperatorDecision
};

nlohmann::json to_json(const OperatorChoice& op) { return nlohmann::json::array({op.name, op.options}); }

OperatorChoice choice_from(const nlohmann::json& json, const Place& place) {
  return {json.at(0), json.at(1).get<operators::Options>(), place};
}

/// Candidates of `operator: auto`, predicted by the first process for its own part. Collective.
template <std::floating_point T>
Candidates candidates_of(const SolverChoice& solver, const Problem& problem, OperatorMaker<T>& maker,
                         const RunContext& context, Record& record) {
  context.progress.step("predicting what operators take");
  const double iterations =
      timed(record.seconds.prediction, [&] { return expected_iterations(problem, solver, context.processes); });
  std::string text;
  do_on_all(context.processes, [&] {
    if (!context.processes.is_first()) return;
    const OperatorEstimates expected = timed(
        record.seconds.prediction, [&] { return expect<T>(solver, problem, record.device, maker.rows(), iterations); });
    record.machine.copy_bandwidth = expected.rates.copy_bandwidth;
    record.warnings.insert(record.warnings.end(), expected.rates.warnings.begin(), expected.rates.warnings.end());
    const OperatorDecision decision = decide_for(solver, problem, record.device, expected);
    nlohmann::json json = nlohmann::json::array({to_json(decision.named), nullptr, decision.expected, decision.why});
    if (decision.runner_up) json[1] = to_json(expected.predictions[*decision.runner_up].op);
    text = json.dump();
  });
  context.processes.broadcast_all(text, 0);
  const nlohmann::json json = nlohmann::json::parse(text);
  Candidates candidates{choice_from(json[0], solver.op.place), std::nullopt, json[2], json[3]};
  if (!json[1].is_null()) candidates.runner_up = choice_from(json[1], solver.op.place);
  return candidates;
}

/// An operator with its cached tuned options, if it is possible with them. Several processes use no cached tuning, so
/// that their results are bitwise reproducible unless tuning is requested.
template <std::floating_point T>
OperatorChoice with_cached_tuning(const SolverChoice& solver, const Problem& problem, const OperatorChoice& op,
                                  OperatorMaker<T>& maker, std::optional<CachedTuning>& kept, const RunContext& context,
                                  Record& record) {
  if (!context.alone() || solver.tune == Tune::off || !is_tunable(op.name, record.device)) return op;
  FoundTuning found = cached_tuning(tuning_key(op, *problem.form().space, solver.precision, record.device));
  if (!found.warning.empty()) record.warnings.push_back(std::move(found.warning));
  if (!found.kept) return op;
  OperatorChoice with = op;
  with.options.insert(found.kept->options.begin(), found.kept->options.end());  // given options take precedence
  try {
    timed(record.seconds.assembly, [&] { return maker.need_of(with); });
  } catch (const InputError& error) {
    record.warnings.push_back(
        fmt::format("tuning that was kept of {} is ignored, since it does not fit: {}", op.name, error.what()));
    return op;
  }
  kept = std::move(found.kept);
  return with;
}

template <std::floating_point T>
MadeOperators<T> make_candidates(const SolverChoice& solver, const Problem& problem, const Candidates& candidates,
                                 OperatorMaker<T>& maker, const RunContext& context, Record& record) {
  MadeOperators<T> made;
  record.op = made.op = candidates.op;
  context.progress.step("estimating the memory");
  const OperatorChoice tuned = with_cached_tuning(solver, problem, made.op, maker, made.kept, context, record);
  record.memory = timed(record.seconds.assembly, [&] { return maker.need_of(tuned); });
  maker.require(record.memory, made.op);
  std::vector<OperatorChoice> ops{tuned};
  if (candidates.runner_up) {
    made.runner_up_op = *candidates.runner_up;
    ops.push_back(with_cached_tuning(solver, problem, made.runner_up_op, maker, made.runner_up_kept, context, record));
  }
  maker.assemble(ops, record.memory.reserved_bytes);
  made.a = maker.make(ops[0]);
  if (candidates.runner_up) made.runner_up = maker.make(ops[1]);
  constexpr std::int64_t vectors = 16;  // of CG, while the matrix is in memory
  const bool tunable = std::ranges::any_of(ops, [&](const auto& op) { return is_tunable(op.name, record.device); });
  const bool has_memory =
      operators::available_bytes(Device::host) > vectors * std::int64_t{sizeof(double)} * problem.form().unknowns;
  maker.release((solver.tune != Tune::off && tunable && has_memory) || maker.matrix_to_read() != nullptr);
  return made;
}

/// The operator chosen by a rule; empty if no rule applies, or memory does not suffice.
template <std::floating_point T>
MadeOperators<T> make_by_rule(const SolverChoice& solver, const Problem& problem, OperatorMaker<T>& maker,
                              const RunContext& context, Record& record) {
  const auto decision = decide_by_rule(solver, problem, record.device, context.processes.size());
  if (!decision) return {};
  try {
    record.why = decision->why;
    return make_candidates(solver, problem, {decision->named, std::nullopt, "", ""}, maker, context, record);
  } catch (const operators::OutOfMemory&) {
    maker.release(false);
    return {};
  }
}

/// The operator with the least predicted time, and its runner-up if both fit into memory.
template <std::floating_point T>
MadeOperators<T> make_as_predicted(const SolverChoice& solver, const Problem& problem, OperatorMaker<T>& maker,
                                   const RunContext& context, Record& record) {
  Candidates candidates = candidates_of(solver, problem, maker, context, record);
  record.why = candidates.why;
  if (candidates.runner_up && !maker.both_fit(maker.need_of(candidates.op), maker.need_of(*candidates.runner_up))) {
    candidates.runner_up.reset();
    record.why = candidates.expected + ", and there is no memory to try both";
  }
  return make_candidates(solver, problem, candidates, maker, context, record);
}

/// True if an operator by cells loses the energies that CG sums over them (loses_energies). Collective.
template <std::floating_point T>
bool loses(const OperatorChoice& op, const operators::Operator<T>* a, double tolerance, const RunContext& context) {
  if (a == nullptr || !std::is_same_v<T, float>) return false;
  if (operators::find_operator(op.name)->needs == Needs::matrix) return false;
  return context.processes.sum(loses_energies(*a, tolerance) ? 1.0 : 0.0) > 0;
}

}  // namespace

template <std::floating_point T>
MadeOperators<T> make_operators(const SolverChoice& solver, const Problem& problem, OperatorMaker<T>& maker,
                                const RunContext& context, Record& record) {
  if (!is_automatic(solver.op))
    return make_candidates(solver, problem, {solver.op, std::nullopt, "", ""}, maker, context, record);
  MadeOperators<T> made = make_by_rule(solver, problem, maker, context, record);
  if (made.op.name.empty()) made = make_as_predicted(solver, problem, maker, context, record);
  constexpr std::string_view why =
      "since operators that multiply cell by cell add up numbers of this problem that single precision cannot tell "
      "from 0; take double, or scale the units of equation and boundary";
  if (loses(made.op, made.a.get(), solver.tolerance, context)) {
    made = {};
    maker.release(false);
    const OperatorChoice of_matrix{std::string(operator_of_options), {}, solver.op.place};
    made = make_candidates(solver, problem, {of_matrix, std::nullopt, "", ""}, maker, context, record);
    record.why = fmt::format("{}, {}", made.op.name, why);
  } else if (loses(made.runner_up_op, made.runner_up.get(), solver.tolerance, context)) {
    made.runner_up.reset();
    record.why = fmt::format("{}, {}", made.op.name, why);
  }
  return made;
}

template OperatorEstimates expect(const SolverChoice&, const Problem&, Device, std::optional<MatrixRows<double>>&,
                                  double);
template OperatorEstimates expect(const SolverChoice&, const Problem&, Device, std::optional<MatrixRows<float>>&,
                                  double);
template MadeOperators<double> make_operators(const SolverChoice&, const Problem&, OperatorMaker<double>&,
                                              const RunContext&, Record&);
template MadeOperators<float> make_operators(const SolverChoice&, const Problem&, OperatorMaker<float>&,
                                             const RunContext&, Record&);

}  // namespace femcg::solver
