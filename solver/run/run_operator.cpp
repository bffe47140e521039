#include "solver/run/run_operator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "operators/backend/memory.hpp"
#include "operators/catalogue.hpp"
#include "operators/forms/element_matrices.hpp"
#include "solver/case/case_keys.hpp"
#include "solver/prediction/iterations.hpp"
#include "solver/prediction/models/bandwidth_model.hpp"
#include "solver/problem/number_range.hpp"
#include "solver/tuning/tunable.hpp"

namespace femcg::solver {

using operators::Device;
using operators::MatrixRows;
using operators::Needs;
using operators::OperatorDescription;

namespace {

const OperatorDescription& row_of(const OperatorChoice& op) { return *operators::find_operator(op.name); }

/// What the operators are made from, from the rows that were counted on.
template <std::floating_point T>
operators::Ingredients<T> assemble_for(const std::vector<const OperatorDescription*>& makers, const Problem& problem,
                                       std::optional<MatrixRows<T>>& rows, operators::ElementMatrices& element_matrices,
                                       Progress& progress, Record& record) {
  const auto needed = [&](Needs needs) {
    return std::ranges::any_of(makers, [&](const auto* row) { return row->needs_on(record.device) == needs; });
  };
  operators::Ingredients<T> ingredients;
  ingredients.device = record.device;
  ingredients.form = &problem.form();
  if (needed(Needs::matrix) || needed(Needs::element_matrices)) {
    progress.step("assembling element matrices");
    element_matrices =
        timed(record.seconds.assembly, [&] { return operators::assemble_element_matrices(problem.form()); });
    ingredients.element_matrices = &element_matrices;
  }
  if (needed(Needs::matrix)) {
    progress.step("assembling the matrix");
    ingredients.matrix = timed(record.seconds.assembly, [&] {
      return std::make_shared<operators::CsrMatrix<T>>(operators::assemble(std::move(*rows), element_matrices));
    });
  }
  rows.reset();
  if (!needed(Needs::element_matrices)) {
    element_matrices = {};
    ingredients.element_matrices = nullptr;
  }
  return ingredients;
}

/// Whether what two operators need goes into the memory that there is together.
bool both_fit(const MemoryEstimate& first, const MemoryEstimate& rival) {
  const auto fits = [](Device device, std::int64_t bytes) {
    return bytes == 0 || bytes <= operators::available_bytes(device);
  };
  return fits(Device::host, first.host_bytes + rival.host_bytes) &&
         fits(Device::cuda, first.device_bytes + rival.device_bytes);
}

/// An operator with the options that tuning has kept for it, where it can be had with them.
template <std::floating_point T>
OperatorChoice with_kept_tuning(const Case& resolved, const Problem& problem, const OperatorChoice& op,
                                std::optional<MatrixRows<T>>& rows, std::optional<KeptTuning>& kept, Record& record) {
  if (resolved.solver.tune == Tune::off || !is_tunable(op.name, record.device)) return op;
  FoundTuning found = kept_tuning(tuning_key(resolved, op, problem.form().space->mesh().shape, record.device));
  if (!found.remark.empty()) record.remarks.push_back(std::move(found.remark));
  if (!found.kept) return op;
  OperatorChoice with = op;
  with.options.insert(found.kept->options.begin(), found.kept->options.end());  // what is given stays
  try {
    timed(record.seconds.assembly, [&] { return need_of<T>(resolved, problem, record.device, with, rows); });
  } catch (const InputError& error) {
    record.remarks.push_back(
        fmt::format("tuning that was kept of {} is ignored, since it does not fit: {}", op.name, error.what()));
    return op;
  }
  kept = std::move(found.kept);
  return with;
}

}  // namespace

Situation situation_of(const Case& resolved, const Problem& problem, Device device, double iterations) {
  const SolverChoice& solver = resolved.solver;
  return {.device = device,
          .form = &problem.form(),
          .preconditioner = find_preconditioner(solver.preconditioner.name),
          .method = solver.method,
          .loop = solver.loop,
          .systems = static_cast<std::int64_t>(problem.loads().size()),
          .iterations = iterations,
          .available = operators::available_bytes};
}

std::int64_t bytes_of_loads(std::size_t loads, const mesh::FunctionSpace& space) {
  const std::int64_t vectors = 2 * static_cast<std::int64_t>(loads) + 1;  // values and solution; one being assembled
  return vectors * space.dof_count() * std::int64_t{sizeof(double)};
}

MemoryUser user_of(const Case& resolved, const Problem& problem, Device device, const OperatorChoice& op) {
  const SolverChoice& solver = resolved.solver;
  return {&row_of(op),
          &op.options,
          device,
          find_preconditioner(solver.preconditioner.name),
          solver.method,
          solver.loop,
          static_cast<std::int64_t>(problem.loads().size())};
}

template <std::floating_point T>
MemoryEstimate need_of(const Case& resolved, const Problem& problem, Device device, const OperatorChoice& op,
                       std::optional<MatrixRows<T>>& rows) {
  const SolverChoice& solver = resolved.solver;
  const MemoryUser user = user_of(resolved, problem, device, op);
  const bool of_matrix = user.row->needs == Needs::matrix;
  if (of_matrix && !rows) rows.emplace(problem.form());
  MemoryEstimate need =
      placed(op.place, [&] { return need_of_run<T>(user, problem.form(), of_matrix ? &*rows : nullptr); });
  placed(solver.loop_place, [&] { require_loop(need, user); });
  if (const std::size_t loads = resolved.problem.loads.size(); loads > 0) {
    const std::int64_t solutions =
        static_cast<std::int64_t>(loads) * problem.form().space->dof_count() * std::int64_t{sizeof(double)};
    need.parts.push_back(
        {fmt::format("solutions of {} load{}", loads, loads == 1 ? "" : "s"), operators::Device::host, solutions});
    need.host_bytes += solutions;
  }
  return need;
}

template <std::floating_point T>
Expectation expect(const Case& resolved, const Problem& problem, Device device, std::optional<MatrixRows<T>>& rows,
                   double iterations) {
  Expectation expected{rates_of(device), {}};
  if (!expected.rates.known()) return expected;
  const BandwidthModel model(expected.rates);
  expected.predictions =
      predict_all<T>(situation_of(resolved, problem, device, iterations), model, expected.rates, rows);
  return expected;
}

OperatorDecision decide_for(const Case& resolved, const Problem& problem, Device device, const Expectation& expected) {
  const Place& place = resolved.solver.op.place;
  return placed(place, [&] {
    if (!expected.rates.known())
      return OperatorDecision{.named = {std::string(operator_of_options), {}, place},
                              .why = "csr stands for any, since the machine's speeds could not be measured"};
    OperatorDecision decision = decide(expected.predictions);
    const MemoryUser user = user_of(resolved, problem, device, decision.named);
    if (decision.rival && user.takes_all(problem.form().unknowns)) {
      decision.rival.reset();
      decision.why = decision.expected + ", and products of several loads at once are not tried";
    }
    if (decision.rival && expected.predictions[decision.first].resident) {
      decision.rival.reset();
      decision.why = decision.expected + ", and a loop inside one kernel is not begun with trials";
    }
    return decision;
  });
}

template <std::floating_point T>
DeviceDecision decide_device(const Case& resolved, const Problem& problem) {
  constexpr std::int32_t most_unknowns = 1 << 19;  // more keep a processor busy for longer than a GPU takes to start
  const SolverChoice& solver = resolved.solver;
  if (solver.device != "auto" || solver.loop == CgLoop::resident || problem.form().unknowns > most_unknowns) return {};
  if (!is_automatic(solver.op) && !row_of(solver.op).host()) return {};
  std::optional<MatrixRows<T>> rows;
  const double iterations = expected_iterations(problem, solver);
  const auto expectation = [&](Device device) {
    if (is_automatic(solver.op)) return expect<T>(resolved, problem, device, rows, iterations);
    Expectation expected{rates_of(device), {}};
    if (expected.rates.known())
      expected.predictions = predict<T>(situation_of(resolved, problem, device, iterations), {solver.op},
                                        BandwidthModel(expected.rates), expected.rates, rows);
    return expected;
  };
  const auto least = [](const Expectation& expected) {
    double seconds = std::numeric_limits<double>::infinity();
    for (const Prediction& each : expected.predictions)
      if (each.possible()) seconds = std::min(seconds, each.seconds());
    return seconds;
  };
  Expectation host = expectation(Device::host), gpu = expectation(Device::cuda);
  DeviceDecision decision;
  if (std::isfinite(least(host))) decision.why_on_host = why_on_host(least(host), least(gpu), gpu_start_up);
  if (is_automatic(solver.op)) decision.expected = std::move(decision.why_on_host.empty() ? gpu : host);
  return decision;
}

namespace {

/// Auto has csr take the place of operators that multiply cells where these lose what CG adds up of them.
template <std::floating_point T>
void leave_cells_where_they_lose_energies(const Case& resolved, const Problem& problem, MadeOperators<T>& made,
                                          Progress& progress, Record& record) {
  const auto loses = [&](const OperatorChoice& op, const std::unique_ptr<operators::Operator<T>>& a) {
    return a && std::is_same_v<T, float> && row_of(op).needs != Needs::matrix &&
           loses_energies(*a, resolved.solver.tolerance);
  };
  constexpr std::string_view why =
      "since operators that multiply cell by cell add up numbers of this problem that single precision cannot tell "
      "from 0; take double, or scale the units of equation and boundary";
  if (loses(made.op, made.a)) {
    Case of_matrix = resolved;
    of_matrix.solver.op = {std::string(operator_of_options), {}, resolved.solver.op.place};
    made = {};
    made = make_operators<T>(of_matrix, problem, std::nullopt, progress, record);
    record.why = fmt::format("{}, {}", made.op.name, why);
  } else if (loses(made.rival_op, made.rival)) {
    made.rival.reset();
    record.why = fmt::format("{}, {}", made.op.name, why);
  }
}

}  // namespace

template <std::floating_point T>
MadeOperators<T> make_operators(const Case& resolved, const Problem& problem, std::optional<Expectation> known,
                                Progress& progress, Record& record) {
  MadeOperators<T> made;
  made.op = resolved.solver.op;
  std::optional<MatrixRows<T>> rows;
  bool with_rival = false;
  if (is_automatic(made.op)) {
    progress.step("predicting what operators take");
    const Expectation expected = timed(record.seconds.prediction, [&] {
      return known ? std::move(*known)
                   : expect<T>(resolved, problem, record.device, rows, expected_iterations(problem, resolved.solver));
    });
    record.machine.copy_bandwidth = expected.rates.copy_bandwidth;
    record.remarks.insert(record.remarks.end(), expected.rates.remarks.begin(), expected.rates.remarks.end());
    const OperatorDecision decision = decide_for(resolved, problem, record.device, expected);
    made.op = decision.named;
    made.op.place = resolved.solver.op.place;
    record.why = decision.why;
    if (decision.rival) {
      made.rival_op = expected.predictions[*decision.rival].op;
      made.rival_op.place = made.op.place;
      with_rival = true;
      const MemoryEstimate first = need_of<T>(resolved, problem, record.device, made.op, rows),
                           rival = need_of<T>(resolved, problem, record.device, made.rival_op, rows);
      if (!both_fit(first, rival)) {
        with_rival = false;
        record.why = decision.expected + ", and there is no memory to try both";
      }
    }
  }
  record.op = made.op;
  progress.step("estimating the memory");
  const OperatorChoice tuned = with_kept_tuning<T>(resolved, problem, made.op, rows, made.kept, record);
  record.memory =
      timed(record.seconds.assembly, [&] { return need_of<T>(resolved, problem, record.device, tuned, rows); });
  require_memory(record.memory, fmt::format("operator '{}'", made.op.name));
  OperatorChoice tuned_rival;
  if (with_rival) tuned_rival = with_kept_tuning<T>(resolved, problem, made.rival_op, rows, made.rival_kept, record);
  std::vector<const OperatorDescription*> makers{&row_of(made.op)};
  if (with_rival) makers.push_back(&row_of(made.rival_op));
  operators::ElementMatrices element_matrices;
  operators::Ingredients<T> ingredients = assemble_for<T>(makers, problem, rows, element_matrices, progress, record);
  ingredients.reserved_bytes = record.memory.reserved_bytes;
  const auto make = [&](const OperatorChoice& op) {
    progress.step(fmt::format("making {}", op.name), name(record.device));
    return placed(op.place, [&] {
      return timed(record.seconds.conversion, [&] { return row_of(op).make(ingredients, op.options); });
    });
  };
  made.a = make(tuned);
  if (with_rival) made.rival = make(tuned_rival);
  constexpr std::int64_t vectors = 16;  // of CG, while the matrix is there
  const bool may_be_tuned =
      resolved.solver.tune != Tune::off &&
      (is_tunable(made.op.name, record.device) || (with_rival && is_tunable(made.rival_op.name, record.device)));
  if (may_be_tuned &&
      operators::available_bytes(Device::host) > vectors * std::int64_t{sizeof(double)} * problem.form().unknowns)
    made.matrix = std::move(ingredients.matrix);
  made.reserved_bytes = ingredients.reserved_bytes;
  if (is_automatic(resolved.solver.op)) leave_cells_where_they_lose_energies(resolved, problem, made, progress, record);
  return made;
}

template MemoryEstimate need_of(const Case&, const Problem&, Device, const OperatorChoice&,
                                std::optional<MatrixRows<double>>&);
template MemoryEstimate need_of(const Case&, const Problem&, Device, const OperatorChoice&,
                                std::optional<MatrixRows<float>>&);
template Expectation expect(const Case&, const Problem&, Device, std::optional<MatrixRows<double>>&, double);
template Expectation expect(const Case&, const Problem&, Device, std::optional<MatrixRows<float>>&, double);
template DeviceDecision decide_device<double>(const Case&, const Problem&);
template DeviceDecision decide_device<float>(const Case&, const Problem&);
template MadeOperators<double> make_operators(const Case&, const Problem&, std::optional<Expectation>, Progress&,
                                              Record&);
template MadeOperators<float> make_operators(const Case&, const Problem&, std::optional<Expectation>, Progress&,
                                             Record&);

}  // namespace femcg::solver
