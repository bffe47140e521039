#include "solver/run/run_operator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "operators/backend/memory.hpp"
#include "operators/catalogue.hpp"
#include "solver/case/case_keys.hpp"
#include "solver/messages/refusal.hpp"
#include "solver/messages/stopwatch.hpp"
#include "solver/problem/number_range.hpp"
#include "solver/run/distributed_setup.hpp"
#include "solver/tuning/tunable.hpp"

namespace femcg::solver {

using operators::Device;
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

namespace {

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
        fmt::format("the stored tuning of {} is ignored, since it does not fit: {}", op.name, error.what()));
    return op;
  }
  kept = std::move(found.kept);
  return with;
}

template <std::floating_point T>
RunOperator<T> make(const SolverChoice& solver, const Problem& problem, const OperatorChoice& op,
                    OperatorMaker<T>& maker, const RunContext& context, Record& record) {
  RunOperator<T> made;
  record.op = made.op = op;
  context.progress.step("estimating the memory");
  const OperatorChoice tuned = with_cached_tuning(solver, problem, op, maker, made.kept, context, record);
  record.memory = timed(record.seconds.assembly, [&] { return maker.need_of(tuned); });
  maker.require(record.memory, op);
  maker.assemble(tuned, record.memory.reserved_bytes);
  made.a = maker.make(tuned);
  constexpr std::int64_t vectors = 16;  // of CG, while the matrix is in memory
  const bool has_memory =
      operators::available_bytes(Device::host) > vectors * std::int64_t{sizeof(double)} * problem.form().unknowns;
  maker.release((solver.tune != Tune::off && is_tunable(tuned.name, record.device) && has_memory) ||
                maker.matrix_to_read() != nullptr);
  return made;
}

/// The operator of decide(), or matrix-free if that is not possible.
template <std::floating_point T>
RunOperator<T> make_automatic(const SolverChoice& solver, const Problem& problem, OperatorMaker<T>& maker,
                              const RunContext& context, Record& record) {
  OperatorDecision decision = decide(prediction_input_of(solver, problem, record.device), context.processes.size());
  decision.named.place = solver.op.place;
  const OperatorChoice last{"matrix-free", {}, solver.op.place};
  record.why = decision.why;
  if (decision.named.name == last.name) return make(solver, problem, last, maker, context, record);
  try {
    return make(solver, problem, decision.named, maker, context, record);
  } catch (const operators::OutOfMemory& error) {
    record.why = fmt::format("{}, since {}", last.name, error.what());
  } catch (const InputError& error) {
    if (solver.loop != CgLoop::persistent) throw;
    record.why = fmt::format("{}, since {} has no persistent kernel here", last.name, decision.named.name);
  }
  maker.release(false);
  return make(solver, problem, last, maker, context, record);
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
RunOperator<T> make_operator(const SolverChoice& solver, const Problem& problem, OperatorMaker<T>& maker,
                             const RunContext& context, Record& record) {
  if (!is_automatic(solver.op)) return make(solver, problem, solver.op, maker, context, record);
  RunOperator<T> made = make_automatic(solver, problem, maker, context, record);
  if (!loses(made.op, made.a.get(), solver.tolerance, context)) return made;
  made = {};
  maker.release(false);
  const OperatorChoice of_matrix{std::string(operator_of_options), {}, solver.op.place};
  made = make(solver, problem, of_matrix, maker, context, record);
  record.why = fmt::format(
      "{}, since operators that multiply cell by cell add up numbers of this problem that single precision cannot tell "
      "from 0; take double, or scale the units of equation and boundary",
      made.op.name);
  return made;
}

template RunOperator<double> make_operator(const SolverChoice&, const Problem&, OperatorMaker<double>&,
                                           const RunContext&, Record&);
template RunOperator<float> make_operator(const SolverChoice&, const Problem&, OperatorMaker<float>&, const RunContext&,
                                          Record&);

}  // namespace femcg::solver
