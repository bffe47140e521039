#include "solver/run/run_distributed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "mesh/base/atomic_file.hpp"
#include "operators/distributed/distributed_form_product.hpp"
#include "solver/benchmark/processor_time.hpp"
#include "solver/fields/beside_gpu.hpp"
#include "solver/fields/boundary_file.hpp"
#include "solver/fields/file_size.hpp"
#include "solver/fields/initial_solution.hpp"
#include "solver/fields/solution_file.hpp"
#include "solver/fields/solution_pieces.hpp"
#include "solver/krylov/batched_cg.hpp"
#include "solver/krylov/block_cg.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/krylov/preconditioner.hpp"
#include "solver/problem/errors.hpp"
#include "solver/problem/measure.hpp"
#include "solver/problem/number_range.hpp"
#include "solver/problem/scaled_load.hpp"
#include "solver/problem/setup.hpp"
#include "solver/report/run_page.hpp"
#include "solver/run/distributed_load.hpp"
#include "solver/run/distributed_record.hpp"
#include "solver/run/distributed_setup.hpp"
#include "solver/run/distributed_tuning.hpp"
#include "solver/run/mapped_load.hpp"
#include "solver/run/run_operator.hpp"

namespace femcg::solver {

using operators::Communicator;
using operators::Device;
using operators::DistributedOperator;
using operators::FormShare;
using operators::Vector;

namespace {

/// CG for one load, from where it was begun, or from x, or from 0 where that is empty; the dofs of the solution that
/// this process has.
template <std::floating_point T>
std::vector<double> solve_load(const SharedRun& of, const Load& load, std::span<const double> start,
                               std::optional<BegunTogether<T>> begun, const DistributedOperator<T>& a,
                               const Preconditioner<T>& preconditioner, Progress& progress, CgResult& result) {
  progress.step("scaling the load");
  const DistributedLoad<T> system(of, load, a, preconditioner, progress);
  CgOptions<T> options = system.options();
  std::vector<double> x;
  options.from_x = !start.empty();
  if (begun) {
    x = std::move(begun->x);
    options.before = &begun->state;
  } else if (options.from_x) {
    x = system.start(start);
  }
  progress.step("iterating", name(a.device()));
  const bool over = begun && begun->state.result.reason != StopReason::max_iterations;
  result = over ? begun->state.result : conjugate_gradients<T>(a, system.b(), x, options);
  progress.step("ending CG");
  return system.dofs(std::move(x));
}

/// Block or batched CG for all loads at once; the dofs of their solutions that this process has.
template <std::floating_point T>
std::vector<std::vector<double>> solve_at_once(CgMethod method, const SharedRun& of, const InitialUnknowns& initial,
                                               const DistributedOperator<T>& a, const Preconditioner<T>& preconditioner,
                                               Progress& progress, std::vector<CgResult>& results) {
  progress.step("scaling the load");
  std::vector<MappedLoad> mapped;
  std::vector<Vector<T>> b;
  for (const Load& load : of.problem.loads()) {
    mapped.emplace_back(of, load);
    b.push_back(copied(rounded<T>(mapped.back().values()), a.device()));
  }
  operators::DistributedFormProduct product(of.communicator, of.problem.form(), of.share.map,
                                            gpu_of_residuals<T>(of, a.device()));
  SystemsCgOptions<T> options;
  options.tolerance = of.resolved.solver.tolerance;
  options.max_iterations = of.resolved.solver.max_iterations;
  options.preconditioner = &preconditioner;
  if (!a.gpus_run_alone()) {
    options.recorded = false;
    options.check_every = 1;
  }
  options.true_residual = [&](std::size_t load, const std::vector<double>& x) {
    const StepTimes::Within step(progress.times(), residual_step, name(product.device()));
    return product.residual(x, mapped[load].values());
  };
  options.monitor = [&](const SystemsIteration& iteration) {
    if (progress.due())
      progress.update(fmt::format("{} of {} loads, CG iteration {}, relative residual {:.2e} (to {:.0e})",
                                  iteration.running, b.size(), iteration.number, iteration.relative_residual,
                                  options.tolerance));
    return !a.vector_operations().asked_to_stop();
  };
  options.from_x = !initial.empty();
  std::vector<std::vector<double>> x;
  for (std::size_t i = 0; i < initial.size(); ++i) x.push_back(mapped[i].start(initial[i], of));
  progress.step("iterating", name(a.device()));
  results = method == CgMethod::block ? block_conjugate_gradients<T>(a, b, x, options)
                                      : batched_conjugate_gradients<T>(a, b, x, options);
  progress.step("ending CG");
  std::vector<std::vector<double>> dofs;
  for (std::size_t i = 0; i < results.size(); ++i)
    dofs.push_back(mapped[i].dofs(std::move(x[i]), of, of.problem.loads()[i]));
  return dofs;
}

/// The seconds of products, of the slowest process each.
template <std::floating_point T>
Samples time_products(const DistributedOperator<T>& a, const Communicator& communicator) {
  constexpr int count = 11;
  Samples samples;
  Vector<T> x(a.size(), a.device()), y(a.size(), a.device());
  operators::fill(x, T(1));
  operators::fill(y, T(0));
  operators::Scalar energy(a.device());
  for (int i = 0; i <= count; ++i) {
    communicator.sum(0.0);  // all begin together
    double seconds = 0;
    timed(seconds, [&] {
      a.apply(x, y, &energy);
      operators::synchronize(a.device());
    });
    seconds = slowest(communicator, seconds);
    if (i > 0) samples.add(seconds);
  }
  return samples;
}

/// The dofs of each load that this process has, one after the other; of those that were begun. `beside` begins what the
/// processor may do beside CG on a GPU.
template <std::floating_point T>
std::vector<std::vector<double>> solve(const SharedRun& of, const InitialUnknowns& initial,
                                       const std::function<void()>& beside, const StopRequested& stop,
                                       Progress& progress, Record& record) {
  MadeTogether<T> made = make_operator<T>(of, stop, progress, record);
  std::optional<BegunTogether<T>> begun = tune<T>(
      of, initial.empty() ? std::span<const double>() : std::span(initial.front()), made, stop, progress, record);
  made.matrices = {};
  const auto& a = made.a;
  record.chosen = a->chosen();
  const PreconditionerChoice& choice = of.resolved.solver.preconditioner;
  const auto preconditioner = [&] {
    const auto diagonal = placed(of.resolved.solver.precision_place, [&] { return diagonal_in_range<T>(*a); });
    progress.step("making the preconditioner", name(record.device));
    return timed(record.seconds.conversion,
                 [&] { return make_preconditioner<T>(choice.name, *a, choice.options, &diagonal); });
  }();
  record.preconditioner_chosen = preconditioner->chosen();
  const ProcessorTime before = processor_time();
  if (record.device == Device::cuda) beside();
  const std::vector<Load>& loads = of.problem.loads();
  std::vector<std::vector<double>> solutions;
  std::vector<CgResult> results;
  timed(record.seconds.solve, [&] {
    const CgMethod method =
        of.resolved.solver.precision == Precision::mixed
            ? CgMethod::automatic
            : user_of(of.resolved, of.problem, record.device, record.op).method_at_once(record.problem.unknowns);
    if (method != CgMethod::automatic) {
      solutions = solve_at_once<T>(method, of, initial, *a, *preconditioner, progress, results);
      return;
    }
    for (const Load& load : loads) {
      const auto start = initial.empty() ? std::span<const double>() : std::span(initial[solutions.size()]);
      solutions.push_back(solve_load<T>(of, load, start, std::exchange(begun, std::nullopt), *a, *preconditioner,
                                        progress, results.emplace_back()));
      if (results.back().reason == StopReason::interrupted) break;
    }
  });
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const bool started = i < results.size();
    CgResult result;
    result.reason = StopReason::interrupted;
    if (started) result = std::move(results[i]);
    if (loads[i].name().empty())
      record.solve = std::move(result);
    else
      record.loads.push_back({loads[i].name(), std::move(result), started, {}});
  }
  if (!record.loads.empty()) record.solve = all_of(record.loads);
  const bool refused = was_refused(processor_time() - before, record.machine.threads);
  if (of.communicator.sum(refused ? 1.0 : 0.0) > 0) record.remarks.emplace_back(refused_time);
  progress.step("timing the product", name(record.device));
  if (record.solve.reason != StopReason::interrupted) record.apply = time_products(*a, of.communicator);
  complete_record(division_of(of), *a, 1, record);
  return solutions;
}

void measure_solutions(const SharedRun& of, const Probes& probes, const std::vector<std::vector<double>>& solutions,
                       Record& record) {
  for (std::size_t i = 0; i < solutions.size(); ++i) {
    const auto on_gpu = solution_on_gpu(of.problem, solutions[i], record.device);
    const operators::FunctionOnGpu* const there = on_gpu ? &*on_gpu : nullptr;
    const Quantities quantities = measure(of.problem, of.problem.loads()[i], probes, solutions[i], there);
    (record.loads.empty() ? record.quantities : record.loads[i].quantities) = quantities;
    if (i == 0 && of.resolved.problem.exact)
      record.errors = measure_errors(*of.resolved.problem.exact, of.problem, solutions.front(), there);
  }
}

/// A summary as it is printed, and as run.log has it.
std::string printed(const Case& resolved, const Record& record) {
  return fmt::format("{}\n{}{}  {:<11} {}{}\n", resolved.title.empty() ? resolved.name : resolved.title,
                     summary(record), summary(*record.distribution), "results", resolved.output.directory.string(),
                     to_text(record.files));
}

/// The files in pieces that are written.
std::vector<Pieces> written_pieces(const OutputChoice& output) {
  std::vector<Pieces> written;
  if (output.vtu) written.push_back(Pieces::solution);
  if (output.boundary) written.push_back(Pieces::boundary);
  return written;
}

/// What the first process writes. Its own piece of the solution, where it has one, is among the files; the others'
/// pieces come to it one by one: they need not see its disk.
void write_results(const SharedRun& of, std::size_t solutions, bool has_piece, const std::string& boundary,
                   mesh::FileGroup& files, Progress& progress, Record& record) {
  const Case& resolved = of.resolved;
  const std::vector<Pieces> written = written_pieces(resolved.output);
  std::map<Pieces, std::vector<int>> ranks;  // that have a piece
  const auto add = [&](Pieces each, int rank, const std::string& text) {
    if (text.empty()) return;
    files.add(piece_name(each, rank), text);
    ranks[each].push_back(rank);
  };
  if (has_piece) ranks[Pieces::solution].push_back(0);
  add(Pieces::boundary, 0, boundary);
  for (int rank = 1; rank < of.communicator.size(); ++rank)
    for (const Pieces each : written) add(each, rank, of.communicator.text_from(rank));
  for (const Pieces each : {Pieces::solution, Pieces::boundary}) {
    if (std::ranges::find(written, each) == written.end())
      files.leave_out(pieces_file(each));
    else
      files.add(pieces_file(each), pieces_text(each, resolved, ranks[each], solutions));
    leave_out_pieces(each, resolved.output.directory, ranks[each], files);
  }
  for (const char* of_one : {"solution.vtu", "boundary.vtu"}) files.leave_out(of_one);
  record.files.written = files.bytes();
  files.add("case.yaml", to_yaml(resolved));
  files.add("residuals.csv", residuals_csv(record));
  leave_out_page(files);
  record.steps = progress.times().list();
  files.add("run.log", printed(resolved, record));
  files.add("result.json", to_text(to_json(record)));
  files.put_in_place();
}

}  // namespace

ExitStatus run_distributed(const Case& resolved, const Console& console, const StopRequested& stop,
                           const Communicator& communicator) {
  const bool first = communicator.is_first();
  Progress progress(console.progress && first);
  require_same("case", to_yaml(resolved), communicator);
  require_supported(resolved);
  Record record = begun_run(resolved);
  record.device = choose_shared_device(resolved, communicator, record.why_device);
  record.machine.device = device_name(record.device);

  progress.step("meshing");
  const mesh::MeshPart part = timed(record.seconds.mesh, [&] { return make_mesh_part(resolved, communicator); });
  progress.step("numbering the unknowns");
  const mesh::FunctionSpace space = timed(record.seconds.space, [&] { return make_space(resolved, part.mesh); });
  const operators::SharedDofs shared_dofs =
      timed(record.seconds.space, [&] { return operators::SharedDofs(communicator, space, part); });
  const Probes probes = locate_probes(resolved.output.probes, part.mesh, shared_dofs);
  progress.step("assembling the load");
  const Problem problem = timed(record.seconds.space, [&] { return Problem(resolved.problem, space, shared_dofs); });
  const InitialUnknowns initial = initial_unknowns(resolved, problem, part.cell_numbers);
  record.files.expected = bytes_of_files(resolved, problem, SolutionFile(resolved, problem));
  if (first) {
    prepare_directory(resolved.output.directory,
                      {"case.yaml", "residuals.csv", pieces_file(Pieces::solution), pieces_file(Pieces::boundary),
                       "result.html", "solution.png", "run.log", "result.json"});
    require_disk(resolved.output.directory, record.files.expected);
  }
  record.problem = size_of(problem);
  record.remarks = part.mesh.remarks;
  record.remarks.insert(record.remarks.end(), problem.remarks().begin(), problem.remarks().end());
  if (!initial.empty()) record.remarks.push_back(begun_from(resolved));
  const bool cores_to_spare = check_threads(
      communicator, record.device == Device::host && resolved.distribution.mode == operators::ExchangeMode::automatic,
      record);
  progress.step("finding the interface");
  const FormShare share = timed(record.seconds.space, [&] { return operators::share_of(problem.form(), shared_dofs); });
  const SharedRun shared{resolved, problem, share, communicator, cores_to_spare};

  mesh::FileGroup files(resolved.output.directory);
  std::optional<SolutionPiece> piece;
  if (resolved.output.vtu) piece.emplace(resolved, problem, communicator.rank(), first ? &files : nullptr);
  const auto beside = [&] {
    if (piece && pays_beside_gpu(space)) piece->begin(problem.loads().size());
  };
  const std::vector<std::vector<double>> solutions =
      resolved.solver.precision == Precision::double_ ? solve<double>(shared, initial, beside, stop, progress, record)
                                                      : solve<float>(shared, initial, beside, stop, progress, record);
  progress.step("measuring the copy bandwidth");
  measure_copies(communicator, record);
  const bool converged = record.solve.reason == StopReason::converged;
  const ExitStatus status = converged ? ExitStatus::done : ExitStatus::not_converged;
  progress.step("measuring the solution");
  measure_solutions(shared, probes, solutions, record);
  progress.step("writing the results");
  const std::string text = piece ? piece->text(solutions) : "",
                    boundary = resolved.output.boundary ? boundary_piece(resolved, problem, solutions) : "";
  if (!first) {
    for (const Pieces each : written_pieces(resolved.output))
      communicator.send_text(each == Pieces::solution ? text : boundary, 0);
    communicator.sum(0.0);  // until all is written
    return status;
  }
  write_results(shared, solutions.size(), piece && piece->has_cells(), boundary, files, progress, record);
  write_result_page(resolved, record);
  communicator.sum(0.0);
  progress.clear();
  if (!console.quiet) fmt::print("{}", printed(resolved, record));
  return status;
}

}  // namespace femcg::solver
