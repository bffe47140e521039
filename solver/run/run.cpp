#include "solver/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <future>
#include <nlohmann/json.hpp>

#include "mesh/base/atomic_file.hpp"
#include "mesh/base/pages.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/catalogue.hpp"
#include "operators/persistent/persistent_cg.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/benchmark/kept_bandwidth.hpp"
#include "solver/benchmark/processor_time.hpp"
#include "solver/benchmark/timing.hpp"
#include "solver/coefficients/field.hpp"
#include "solver/fields/beside_gpu.hpp"
#include "solver/fields/boundary_file.hpp"
#include "solver/fields/file_ahead.hpp"
#include "solver/fields/file_size.hpp"
#include "solver/fields/solution_file.hpp"
#include "solver/fields/solution_pieces.hpp"
#include "solver/krylov/batched_cg.hpp"
#include "solver/krylov/block_cg.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/krylov/iterations_left.hpp"
#include "solver/krylov/preconditioner.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/progress.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/messages/units.hpp"
#include "solver/prediction/iterations.hpp"
#include "solver/prediction/prediction.hpp"
#include "solver/prediction/trial.hpp"
#include "solver/problem/errors.hpp"
#include "solver/problem/measure.hpp"
#include "solver/problem/number_range.hpp"
#include "solver/problem/problem.hpp"
#include "solver/problem/scaled_load.hpp"
#include "solver/problem/setup.hpp"
#include "solver/records/record.hpp"
#include "solver/report/run_page.hpp"
#include "solver/run/device_start.hpp"
#include "solver/run/run_operator.hpp"
#include "solver/run/run_tuning.hpp"
#include "solver/run/true_residual.hpp"

namespace femcg::solver {

namespace {

/// Throws operators::OutOfMemory where there are more loads than memory for them.
void require_memory_of_loads(const ProblemData& data, const mesh::FunctionSpace& space) {
  MemoryEstimate need;
  need.host_bytes = bytes_of_loads(data.loads.size(), space);
  if (!data.loads.empty()) require_memory(need, fmt::format("a case of {} loads", data.loads.size()));
}

/// How far CG is; `which` ends with a comma and a space where it is not empty.
template <class Iteration>
std::string reached(const std::string& which, const Iteration& iteration, double tolerance) {
  return fmt::format("{}CG iteration {}, relative residual {:.2e} (to {:.0e}), {:.0f} iterations/s", which,
                     iteration.number, iteration.relative_residual, tolerance,
                     static_cast<double>(iteration.number) / std::max(iteration.seconds, 1e-9));
}

/// What is left at the speed so far.
Share share_of(const IterationsLeft& iterations, std::int64_t number, double seconds) {
  return {iterations.done(), seconds / std::max<double>(1, static_cast<double>(number)) * iterations.left()};
}

IterationsLeft iterations_left(const Case& resolved, const Problem& problem) {
  return {resolved.solver.tolerance,
          expected_iterations(problem.form(), resolved.solver.tolerance, resolved.solver.max_iterations)};
}

/// Runs CG, whose own seconds are those of its loop, with those of an earlier one that it goes on from: what it does
/// before and after the loop is a step of its own.
template <class Work>
auto iterating(Progress& progress, Record& record, double seconds_before, const Work& work) {
  const std::string device = name(record.device);
  progress.step("preparing CG, copying its vectors", device);
  auto found = timed(record.seconds.solve, work);
  double seconds = -seconds_before;
  if constexpr (std::is_same_v<decltype(found), CgResult>)
    seconds += found.seconds;
  else
    for (const CgResult& result : found) seconds += result.seconds;
  progress.times().divert("iterating", device, seconds);
  return found;
}

/// The unknowns of each load, and how CG ended; of the loads that were begun.
struct Solutions {
  std::vector<std::vector<double>> unknowns;
  std::vector<CgResult> results;
};

/// Lets two operators that were made multiply within the first iterations of CG on the first load, and keeps the
/// faster.
template <std::floating_point T>
Begun<T> choose_by_products(const Case& resolved, const Problem& problem, const InitialUnknowns& initial,
                            MadeOperators<T>& made, Progress& progress, const StopRequested& stop, Record& record) {
  progress.step(fmt::format("trying {} and {}", made.op.name, made.rival_op.name), name(record.device));
  const PreconditionerChoice& choice = resolved.solver.preconditioner;
  auto preconditioner =
      timed(record.seconds.conversion, [&] { return make_preconditioner(choice.name, *made.a, choice.options); });
  const FirstLoad<T> first(resolved, problem, initial, *preconditioner, record.device, progress, stop);
  Begun<T> begun;
  begun.x = first.start();
  Trial<T> trial = timed(record.seconds.solve, [&] {
    return try_both<T>(*made.a, made.op.name, *made.rival, made.rival_op.name, first.b(), begun.x, first.options());
  });
  begun.state = std::move(trial.state);
  record.why = trial.verdict.why;
  if (trial.verdict.rival) {
    std::swap(made.a, made.rival);
    std::swap(made.op, made.rival_op);
    std::swap(made.kept, made.rival_kept);
    record.op = made.op;
  } else {
    begun.preconditioner = std::move(preconditioner);
  }
  made.rival.reset();
  return begun;
}

/// Solves A x = b for one load after the other; the first from where it was begun, if it was.
template <std::floating_point T>
Solutions solve_in_turn(const Case& resolved, const Problem& problem, const InitialUnknowns& initial,
                        const operators::Operator<T>& a, const Preconditioner<T>& preconditioner,
                        std::optional<Begun<T>> begun, Progress& progress, const StopRequested& stop, Record& record) {
  CgOptions<T> options;
  options.tolerance = resolved.solver.tolerance;
  options.max_iterations = resolved.solver.max_iterations;
  options.method = resolved.solver.method;
  options.loop = resolved.solver.loop;
  options.preconditioner = &preconditioner;
  if (resolved.solver.precision == Precision::mixed) options.reliable_update = update_factor;
  TrueResidual<T> residual(problem, record.device, progress.times());
  Solutions solutions;
  for (const Load& load : problem.loads()) {
    const std::string which = load.name().empty() ? "" : fmt::format("load {}, ", in_quotes(load.name()));
    IterationsLeft left = iterations_left(resolved, problem);
    options.monitor = [&](const Iteration& iteration) {
      left.add(iteration.relative_residual);
      if (progress.due())
        progress.update(reached(which, iteration, options.tolerance),
                        share_of(left, iteration.number, iteration.seconds));
      return !stop();
    };
    const ScaledLoad scaled = scaled_load(load.values());
    progress.step("copying the load", name(record.device));
    const operators::Vector<T> b = timed(record.seconds.transfer, [&] { return scaled.rounded<T>(record.device); });
    residual.check(scaled, b, options);
    std::vector<double> solution =
        begun ? std::move(begun->x) : scaled_start(initial, solutions.unknowns.size(), scaled);
    options.from_x = !initial.empty();
    const bool over = begun && !begun->goes_on();
    options.before = begun ? &begun->state : nullptr;
    const double tried = begun ? begun->state.result.seconds : 0;  // counted within the trial
    try {
      solutions.results.push_back(over ? begun->state.result : iterating(progress, record, tried, [&] {
        return conjugate_gradients(a, b, solution, options);
      }));
    } catch (const InputError& error) {  // this GPU has too few threads for a loop inside one kernel
      throw InputError(at_place(resolved.solver.loop_place, error.what()));
    }
    if (begun) begun.reset();
    scale(solution, -scaled.exponent);
    solutions.unknowns.push_back(std::move(solution));
    if (solutions.results.back().reason == StopReason::interrupted) break;
  }
  return solutions;
}

/// Solves A x = b for all loads at once.
template <std::floating_point T>
Solutions solve_at_once(CgMethod method, const Case& resolved, const Problem& problem, const InitialUnknowns& initial,
                        const operators::Operator<T>& a, const Preconditioner<T>& preconditioner, Progress& progress,
                        const StopRequested& stop, Record& record) {
  std::vector<ScaledLoad> scaled;
  std::vector<operators::Vector<T>> b;
  for (const Load& load : problem.loads()) {
    scaled.push_back(scaled_load(load.values()));
    b.push_back(scaled.back().rounded<T>(operators::Device::host));
  }
  SystemsCgOptions<T> options;
  options.tolerance = resolved.solver.tolerance;
  options.max_iterations = resolved.solver.max_iterations;
  options.preconditioner = &preconditioner;
  TrueResidual<T> residual(problem, record.device, progress.times());
  options.true_residual = [&](std::size_t load, const std::vector<double>& x) { return residual.of(scaled[load], x); };
  IterationsLeft left = iterations_left(resolved, problem);
  options.monitor = [&](const SystemsIteration& iteration) {
    left.add(iteration.relative_residual);
    if (progress.due())
      progress.update(
          reached(fmt::format("{} of {} loads, ", iteration.running, b.size()), iteration, options.tolerance),
          share_of(left, iteration.number, iteration.seconds));
    return !stop();
  };
  Solutions solutions;
  options.from_x = !initial.empty();
  for (std::size_t i = 0; i < initial.size(); ++i) solutions.unknowns.push_back(scaled_start(initial, i, scaled[i]));
  solutions.results = iterating(progress, record, 0, [&] {
    return method == CgMethod::block ? block_conjugate_gradients<T>(a, b, solutions.unknowns, options)
                                     : batched_conjugate_gradients<T>(a, b, solutions.unknowns, options);
  });
  solutions.unknowns.resize(solutions.results.size());
  for (std::size_t i = 0; i < solutions.unknowns.size(); ++i) scale(solutions.unknowns[i], -scaled[i].exponent);
  return solutions;
}

/// The CG that solves all loads at once; automatic where they are solved in turn, which a loop inside one kernel does
/// for small systems.
template <std::floating_point T>
CgMethod method_at_once(const MemoryUser& user, const operators::Operator<T>& a,
                        const Preconditioner<T>& preconditioner) {
  const CgMethod method = user.method_at_once(a.size());
  if (takes_several(user.method) || method == CgMethod::block) return method;
  const bool resident =
      may_reside(user.loop) && preconditioner.is_fused() && operators::persistent_cg(a, persistent_for(user.loop));
  return resident ? CgMethod::automatic : method;
}

/// An operator that may serve several runs, with what the record of the run that made it says of it.
template <std::floating_point T>
struct KeptOperator {
  std::shared_ptr<const Problem> problem;  ///< whose form it is made of
  MadeOperators<T> made;
  std::unique_ptr<Preconditioner<T>> preconditioner;
  Record record;
};

/// Makes operator and preconditioner; `begun` is where CG on the first load came to meanwhile.
template <std::floating_point T>
void make(const Case& resolved, const Problem& problem, const InitialUnknowns& initial,
          std::optional<Expectation> expected, Progress& progress, const StopRequested& stop, Record& record,
          KeptOperator<T>& to, std::optional<Begun<T>>& begun) {
  to.made = make_operators<T>(resolved, problem, std::move(expected), progress, record);
  if (to.made.rival) begun = choose_by_products(resolved, problem, initial, to.made, progress, stop, record);
  tune(resolved, problem, initial, to.made, begun, progress, stop, record);
  const auto& a = to.made.a;
  progress.step("making the preconditioner", name(record.device));
  record.footprint = a->footprint();
  record.chosen = a->chosen();
  const operators::Vector<T> diagonal = placed(resolved.solver.precision_place, [&] { return diagonal_in_range(*a); });
  const PreconditionerChoice& choice = resolved.solver.preconditioner;
  to.preconditioner =
      begun && begun->preconditioner ? std::move(begun->preconditioner) : timed(record.seconds.conversion, [&] {
        return make_preconditioner(choice.name, *a, choice.options, &diagonal);
      });
  record.preconditioner_chosen = to.preconditioner->chosen();
}

/// What the record says of an operator that an earlier run made.
void take_over(const Record& of, Record& record) {
  record.op = of.op;
  record.why = of.why;
  record.footprint = of.footprint;
  record.chosen = of.chosen;
  record.tuning = of.tuning;
  record.memory = of.memory;
  record.preconditioner_chosen = of.preconditioner_chosen;
  record.machine.copy_bandwidth = of.machine.copy_bandwidth;
}

/// The coefficients of all dofs for each load, and what flows through the boundary with each.
struct Solved {
  std::vector<std::vector<double>> solutions;
  std::future<std::vector<BoundaryFlux>> fluxes;  ///< waited for before the solutions go
};

/// Found now, on the processor, while a GPU times its product, or else when they are asked for.
std::future<std::vector<BoundaryFlux>> fluxes_of(const Problem& problem,
                                                 const std::vector<std::vector<double>>& solutions,
                                                 operators::Device device) {
  const std::vector<std::span<const double>> dofs(solutions.begin(), solutions.end());  // the vector itself may move
  return std::async(device == operators::Device::cuda ? std::launch::async : std::launch::deferred, [&problem, dofs] {
    std::vector<BoundaryFlux> fluxes;
    for (std::size_t i = 0; i < dofs.size(); ++i) fluxes.emplace_back(problem, problem.loads()[i], dofs[i]);
    return fluxes;
  });
}

/// The coefficients of all dofs for each load, one after the other, with one operator; for those that were begun before
/// the user wanted an end. `beside` begins what the processor may do beside CG on a GPU.
template <std::floating_point T>
Solved solve(const Case& resolved, const Problem& problem, const InitialUnknowns& initial,
             std::optional<Expectation> expected, KeptParts& kept, const std::function<void()>& beside,
             Progress& progress, const StopRequested& stop, Record& record) {
  std::optional<Begun<T>> begun;
  auto parts = std::static_pointer_cast<const KeptOperator<T>>(kept.made);
  if (parts) {
    take_over(parts->record, record);
  } else {
    const auto fresh = std::make_shared<KeptOperator<T>>();
    make(resolved, problem, initial, std::move(expected), progress, stop, record, *fresh, begun);
    if (kept.operators) {
      fresh->problem = kept.problem;
      fresh->record = record;
      kept.made = fresh;
    }
    parts = fresh;
  }
  const auto& a = parts->made.a;
  const auto& preconditioner = parts->preconditioner;
  const ProcessorTime before = processor_time();
  const CgMethod method =
      resolved.solver.precision == Precision::mixed
          ? CgMethod::automatic
          : method_at_once(user_of(resolved, problem, record.device, record.op), *a, *preconditioner);
  std::future<std::vector<double>> room;  // of the first solution: one thread clears it, while a GPU iterates
  if (record.device == operators::Device::cuda) {
    beside();
    room = std::async(std::launch::async, [&] {
      return mesh::filled<double>(static_cast<std::size_t>(problem.form().space->dof_count()));
    });
  }
  progress.step("scaling the load");
  Solutions found =
      method != CgMethod::automatic
          ? solve_at_once(method, resolved, problem, initial, *a, *preconditioner, progress, stop, record)
          : solve_in_turn(resolved, problem, initial, *a, *preconditioner, std::move(begun), progress, stop, record);
  progress.step("ending CG");
  std::vector<std::vector<double>> solutions;
  const bool interrupted = std::ranges::any_of(
      found.results, [](const CgResult& result) { return result.reason == StopReason::interrupted; });
  for (std::size_t i = 0; i < problem.loads().size(); ++i) {
    const Load& load = problem.loads()[i];
    const bool started = i < found.results.size();
    CgResult result;
    result.reason = StopReason::interrupted;
    if (started) {
      result = std::move(found.results[i]);
      solutions.push_back(problem.to_dofs(found.unknowns[i], load, room.valid() ? room.get() : std::vector<double>()));
      found.unknowns[i] = {};
    }
    if (load.name().empty())
      record.solve = std::move(result);
    else
      record.loads.push_back({load.name(), std::move(result), started, {}});
  }
  if (!record.loads.empty()) record.solve = all_of(record.loads);
  if (record.device == operators::Device::host && was_refused(processor_time() - before, record.machine.threads))
    record.remarks.emplace_back(refused_time);
  auto fluxes = fluxes_of(problem, solutions, record.device);
  progress.step("timing the product", name(record.device));
  constexpr double share_of_loop = 0.02;
  if (!interrupted) record.apply = time_products(*a, share_of_loop * record.solve.seconds);
  if (record.device == operators::Device::cuda) note_gpu(record.machine);
  progress.step("giving back memory");  // of operator and preconditioner, at the end of this function
  return {std::move(solutions), std::move(fluxes)};
}

void measure_solutions(const Case& resolved, const Problem& problem, const Probes& probes, Solved& of, Record& record) {
  const std::vector<std::vector<double>>& solutions = of.solutions;
  std::vector<BoundaryFlux> fluxes;
  for (std::size_t i = 0; i < solutions.size(); ++i) {
    const auto on_gpu = solution_on_gpu(problem, solutions[i], record.device);
    const operators::FunctionOnGpu* const there = on_gpu ? &*on_gpu : nullptr;
    if (i == 0) fluxes = of.fluxes.get();
    const Quantities quantities = measure(problem, problem.loads()[i], probes, solutions[i], fluxes[i], there);
    (record.loads.empty() ? record.quantities : record.loads[i].quantities) = quantities;
    if (i == 0 && resolved.problem.exact)
      record.errors = measure_errors(*resolved.problem.exact, problem, solutions.front(), there);
  }
}

/// A summary as it is printed, and as run.log has it.
std::string printed(const Case& resolved, const Record& record) {
  return fmt::format("{}\n{}  {:<11} {}{}\n", resolved.title.empty() ? resolved.name : resolved.title, summary(record),
                     "results", resolved.output.directory.string(), to_text(record.files));
}

/// The record gets the times of all steps but for the writing of its own file and of run.log.
void write_results(const Case& resolved, const Problem& problem, const std::vector<std::vector<double>>& solutions,
                   mesh::FileGroup& files, FileAhead& solution, Progress& progress, Record& record) {
  if (resolved.output.vtu)
    solution.finish(solutions.size());
  else
    files.leave_out("solution.vtu");
  files.leave_out("study.csv");
  for (const Pieces of : {Pieces::solution, Pieces::boundary}) {
    files.leave_out(pieces_file(of));
    leave_out_pieces(of, resolved.output.directory, {}, files);
  }
  if (resolved.output.boundary)
    files.add("boundary.vtu", [&](std::ostream& stream) { BoundaryFile(resolved, problem).write(stream, solutions); });
  else
    files.leave_out("boundary.vtu");
  record.files.written = files.bytes();
  files.add("case.yaml", to_yaml(resolved));
  files.add("residuals.csv", residuals_csv(record));
  leave_out_page(files);
  record.steps = progress.times().list();
  files.add("run.log", printed(resolved, record));
  files.add("result.json", to_text(to_json(record)));
  files.put_in_place();
}

/// Has a problem that is too small to gain from the GPU stay on the processor.
DeviceDecision leave_gpu(const Case& resolved, const Problem& problem, operators::Device& device) {
  if (device != operators::Device::cuda || !has_gpu()) return {};
  DeviceDecision decision = resolved.solver.precision == Precision::double_ ? decide_device<double>(resolved, problem)
                                                                            : decide_device<float>(resolved, problem);
  if (!decision.why_on_host.empty()) device = operators::Device::host;
  return decision;
}

/// What a run will write, as a comment.
std::string expected_files(const Case& resolved, const Problem& problem) {
  const std::int64_t bytes = bytes_of_files(resolved, problem, SolutionFile(resolved, problem));
  require_disk(resolved.output.directory, bytes);
  if (bytes == 0) return "";
  const std::optional<std::int64_t> there = free_disk(resolved.output.directory);
  return fmt::format("# Files that femcg run writes: about {}{}\n", scaled(static_cast<double>(bytes), "B"),
                     there ? fmt::format(", {} are free", scaled(static_cast<double>(*there), "B")) : "");
}

/// What memory a run needs, and what operators are expected to take, as comments.
template <std::floating_point T>
std::string expectation(const Case& resolved, const Problem& problem, operators::Device device,
                        std::optional<Expectation> expected_there) {
  OperatorChoice op = resolved.solver.op;
  const bool known = device == operators::Device::host || has_gpu();  // a GPU that is insisted on may be elsewhere
  if (!known && is_automatic(op)) return "# operator auto: decided where the GPU is\n";
  std::optional<operators::MatrixRows<T>> rows;
  std::string expected;
  if (known) {
    const Expectation all =
        expected_there ? std::move(*expected_there)
                       : expect<T>(resolved, problem, device, rows, expected_iterations(problem, resolved.solver));
    expected = "# What operators are expected to take, by the bandwidth model:\n" + to_text(all.predictions, "#   ");
    if (is_automatic(op)) {
      const OperatorDecision decision = decide_for(resolved, problem, device, all);
      op = decision.named;
      op.place = resolved.solver.op.place;
      expected +=
          fmt::format("# operator auto: {}\n",
                      !decision.rival ? decision.why
                                      : fmt::format("{}; products of {} and {} within CG decide", decision.expected,
                                                    op.name, all.predictions[*decision.rival].op.name));
    }
  }
  const MemoryEstimate need = need_of<T>(resolved, problem, device, op, rows);
  const std::string with = is_automatic(resolved.solver.op) ? ", with " + op.name : "";
  return fmt::format("# Memory that femcg run needs beside the mesh{}:\n", with) + to_text(need, "#   ") + expected;
}

}  // namespace

std::string operator_key(const Case& resolved) {
  Case of = resolved;
  const std::size_t loads = std::max<std::size_t>(1, of.problem.loads.size());
  of.title.clear();
  of.solution = {};
  of.problem.source = {Expression(0.0), {}, {}};
  for (BoundaryCondition& condition : of.problem.boundary) condition.value = condition.ambient = Expression(0.0);
  of.problem.exact.reset();
  of.problem.loads.clear();
  of.solver.tolerance = SolverChoice().tolerance;
  of.solver.max_iterations = SolverChoice().max_iterations;
  of.solver.initial.clear();
  of.output = {};
  of.compare = {};
  of.sweep.clear();
  return fmt::format("{} loads\n{}", loads, to_yaml(of));
}

namespace {

/// Has the parts be those of this case, as far as they are not already; what takes memory goes before what replaces it.
/// The device starts beside them, once no process is forked to make a mesh.
void update_parts(const Case& resolved, KeptParts& kept, DeviceStart& start, Progress& progress, Record& record) {
  if (std::holds_alternative<mesh::BoxOptions>(resolved.mesh.source)) start.begin();
  Case of;
  of.mesh = resolved.mesh;
  std::string mesh_key = to_yaml(of);
  std::string space_key = fmt::format("{}degree {}", mesh_key, resolved.degree);
  of = resolved;
  of.title.clear();
  of.solver = {};
  of.output = {};
  of.compare = {};
  of.sweep.clear();
  std::string problem_key = to_yaml(of), key = operator_key(resolved);
  if (key != kept.operator_key) kept.made.reset();
  if (problem_key != kept.problem_key) kept.problem.reset();
  if (space_key != kept.space_key) kept.space.reset();
  if (mesh_key != kept.mesh_key) kept.mesh.reset();
  if (!kept.mesh) {
    progress.step("meshing");
    kept.mesh = std::make_unique<const mesh::Mesh>(timed(record.seconds.mesh, [&] { return make_mesh(resolved); }));
    kept.mesh_key = std::move(mesh_key);
  }
  start.begin();
  if (!kept.space) {
    progress.step("numbering the unknowns");
    kept.space = std::make_unique<const mesh::FunctionSpace>(
        timed(record.seconds.space, [&] { return make_space(resolved, *kept.mesh); }));
    kept.space_key = std::move(space_key);
  }
  require_memory_of_loads(resolved.problem, *kept.space);
  if (!kept.problem) {
    progress.step("assembling the load");
    struct WithData {  // which the problem points to
      ProblemData data;
      Problem problem;
      WithData(const ProblemData& of_case, const mesh::FunctionSpace& space) : data(of_case), problem(data, space) {}
    };
    const auto made =
        timed(record.seconds.space, [&] { return std::make_shared<const WithData>(resolved.problem, *kept.space); });
    kept.problem = std::shared_ptr<const Problem>(made, &made->problem);
    kept.problem_key = std::move(problem_key);
  }
  kept.operator_key = std::move(key);
}

}  // namespace

ExitStatus run(const Case& resolved, const Console& console, const StopRequested& stop) {
  Progress progress(console.progress);
  KeptParts kept;
  const Record record = run_case(resolved, kept, true, progress, stop);
  progress.clear();
  if (!console.quiet) fmt::print("{}", printed(resolved, record));
  return record.solve.reason == StopReason::converged ? ExitStatus::done : ExitStatus::not_converged;
}

Record run_case(const Case& resolved, KeptParts& kept, bool writes, Progress& progress, const StopRequested& stop) {
  Record record = begun_run(resolved);
  DeviceStart start(resolved);
  update_parts(resolved, kept, start, progress, record);
  const mesh::Mesh& mesh = *kept.mesh;
  const Problem& problem = *kept.problem;
  if (!resolved.output.probes.empty()) progress.step("locating probes");
  const Probes probes = locate_probes(resolved.output.probes, mesh);
  if (!resolved.solver.initial.empty()) progress.step("reading the initial solution");
  const InitialUnknowns initial = initial_unknowns(resolved, problem);
  progress.step("preparing the results");
  SolutionFile file(resolved, problem);
  if (writes) {
    prepare_directory(resolved.output.directory, {"case.yaml", "residuals.csv", "solution.vtu", "boundary.vtu",
                                                  "result.html", "solution.png", "run.log", "result.json"});
    record.files.expected = bytes_of_files(resolved, problem, file);
    require_disk(resolved.output.directory, record.files.expected);
  }
  if (resolved.solver.device != "cpu" && operators::built_with_cuda()) progress.step("starting devices");
  record.device = start.device();
  record.machine.device = device_name(record.device);
  if (record.device == operators::Device::cuda) progress.step("choosing the device");
  DeviceDecision on_device;
  if (kept.made) {
    record.device = kept.device;
    on_device.why_on_host = kept.why_device;
  } else {
    on_device = timed(record.seconds.prediction, [&] { return leave_gpu(resolved, problem, record.device); });
    if (kept.device != record.device) kept.copy_bandwidth = 0;
    kept.device = record.device;
    kept.why_device = on_device.why_on_host;
  }
  record.why_device = on_device.why_on_host;
  if (!record.why_device.empty()) record.machine.device = device_name(record.device);
  record.problem = size_of(problem);
  record.remarks = mesh.remarks;
  record.remarks.insert(record.remarks.end(), problem.remarks().begin(), problem.remarks().end());
  if (!initial.empty()) record.remarks.push_back(begun_from(resolved));

  mesh::FileGroup files(resolved.output.directory);
  FileAhead solution_file(files, file);
  const auto beside = [&] {
    if (writes && resolved.output.vtu && pays_beside_gpu(*problem.form().space))
      solution_file.begin(problem.loads().size());
  };
  Solved solved = resolved.solver.precision == Precision::double_
                      ? solve<double>(resolved, problem, initial, std::move(on_device.expected), kept, beside, progress,
                                      stop, record)
                      : solve<float>(resolved, problem, initial, std::move(on_device.expected), kept, beside, progress,
                                     stop, record);
  progress.step("measuring the solution");
  measure_solutions(resolved, problem, probes, solved, record);
  const std::vector<std::vector<double>>& solutions = solved.solutions;
  if (writes) {
    if (resolved.output.fields != OutputChoice().fields) progress.step("computing fields");
    file.prepare(solutions);
  }
  progress.step("measuring the copy bandwidth", name(record.device));
  record.peak_memory_bytes = peak_memory();
  if (record.machine.copy_bandwidth == 0 && record.device == kept.device)
    record.machine.copy_bandwidth = kept.copy_bandwidth;
  if (record.machine.copy_bandwidth == 0) {  // else it was needed before
    const CopyBandwidth copies = copy_bandwidth_of(record.device);
    record.machine.copy_bandwidth = copies.bytes_per_second;
    if (!copies.remark.empty() && std::ranges::find(record.remarks, copies.remark) == record.remarks.end())
      record.remarks.push_back(copies.remark);
  }
  kept.copy_bandwidth = record.machine.copy_bandwidth;
  if (record.footprint.link_bytes > 0) {
    const CopyBandwidth link = measure_link_bandwidth();
    record.machine.link_bandwidth = link.bytes_per_second;
    if (!link.remark.empty()) record.remarks.push_back(link.remark);
  }

  if (writes) {
    progress.step("writing the results");
    write_results(resolved, problem, solutions, files, solution_file, progress, record);
    write_result_page(resolved, record);
  }
  return record;
}

std::string check(const Case& resolved, const Console& console) {
  Progress progress(console.progress);
  operators::Device device = choose_device(resolved, resolved.solver.op);
  progress.step("meshing");
  const mesh::Mesh mesh = make_mesh(resolved);
  const mesh::FunctionSpace space = make_space(resolved, mesh);
  locate_probes(resolved.output.probes, mesh);
  require_memory_of_loads(resolved.problem, space);
  progress.step("checking the problem");
  const Problem problem(resolved.problem, space);
  initial_unknowns(resolved, problem);
  if (resolved.problem.exact) interpolate(FieldOnRegions(*resolved.problem.exact, "exact", mesh, std::nullopt), space);
  const std::string files = expected_files(resolved, problem);
  progress.step("estimating the memory");
  DeviceDecision on_device = leave_gpu(resolved, problem, device);
  const std::string expected = resolved.solver.precision == Precision::double_
                                   ? expectation<double>(resolved, problem, device, std::move(on_device.expected))
                                   : expectation<float>(resolved, problem, device, std::move(on_device.expected));
  progress.clear();
  for (const auto* remarks : {&mesh.remarks, &problem.remarks()})
    for (const std::string& remark : *remarks) fmt::print(stderr, "note: {}\n", remark);
  return expected + files + (on_device.why_on_host.empty() ? "" : "# device auto: " + on_device.why_on_host + "\n");
}

}  // namespace femcg::solver
