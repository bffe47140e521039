#include "solver/run_distributed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "mesh/atomic_file.hpp"
#include "operators/distributed/distributed_reference.hpp"
#include "solver/benchmark/processor_time.hpp"
#include "solver/distributed_setup.hpp"
#include "solver/fields/boundary_file.hpp"
#include "solver/fields/file_size.hpp"
#include "solver/fields/initial_solution.hpp"
#include "solver/fields/solution_file.hpp"
#include "solver/fields/solution_pieces.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/krylov/preconditioner.hpp"
#include "solver/problem/measure.hpp"
#include "solver/problem/number_range.hpp"
#include "solver/problem/scaled_load.hpp"
#include "solver/problem/setup.hpp"
#include "solver/report/run_page.hpp"
#include "solver/run_operator.hpp"

namespace femcg::solver {

using operators::Communicator;
using operators::Device;
using operators::DistributedOperator;
using operators::FormShare;
using operators::IndexMap;
using operators::Vector;

namespace {

/// What this process has of a vector of all unknowns.
std::vector<double> part_of_all(std::span<const double> all, const IndexMap& map) {
  std::vector<double> part;
  for (const std::int32_t unknown : map.unknowns) part.push_back(all[unknown]);
  return part;
}

/// The vector of all unknowns from what each process owns, on all.
std::vector<double> all_of_parts(std::span<const double> part, const IndexMap& map, const Communicator& communicator,
                                 std::int32_t unknowns) {
  std::vector<double> all(unknowns);
  for (int from = 0; from < communicator.size(); ++from) {
    std::vector<std::int32_t> numbers;
    std::vector<double> values;
    if (from == communicator.rank()) {
      numbers.assign(map.unknowns.begin(), map.unknowns.begin() + map.owned);
      values.assign(part.begin(), part.begin() + map.owned);
    }
    communicator.broadcast_all(numbers, from);
    communicator.broadcast_all(values, from);
    for (std::size_t i = 0; i < numbers.size(); ++i) all[numbers[i]] = values[i];
  }
  return all;
}

/// CG for one load, from x of all unknowns, or from 0 where that is empty; the dofs of the solution, on all processes.
template <std::floating_point T>
std::vector<double> solve_load(const SharedRun& of, const Load& load, std::span<const double> start,
                               const DistributedOperator<T>& a, const Preconditioner<T>& preconditioner,
                               Progress& progress, CgResult& result) {
  const ScaledLoad scaled = scaled_load(load.values());
  const std::vector<double> mine = part_of_all(scaled.values, of.share.map);
  Vector<T> on_host(std::ssize(mine));
  std::ranges::transform(mine, on_host.data(), [](double value) { return static_cast<T>(value); });
  const Vector<T> b = copied(on_host, a.device());
  operators::DistributedReference reference(of.communicator, of.share);
  CgOptions<T> options;
  options.tolerance = of.resolved.solver.tolerance;
  options.max_iterations = of.resolved.solver.max_iterations;
  options.method = of.resolved.solver.method;
  options.preconditioner = &preconditioner;
  options.recorded = false;  // the host sends and adds up within an iteration
  options.check_every = 1;
  options.true_residual = [&](const std::vector<double>& x) {
    std::vector<double> r = reference.apply(x);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = mine[i] - r[i];
    return r;
  };
  options.monitor = [&](const Iteration& iteration) {
    if (progress.due())
      progress.update(fmt::format("CG iteration {}, relative residual {:.2e} (to {:.0e})", iteration.number,
                                  iteration.relative_residual, options.tolerance));
    return !a.vector_operations().asked_to_stop();
  };
  std::vector<double> x;
  options.from_x = !start.empty();
  if (options.from_x) x = part_of_all(start, of.share.map);
  scale(x, scaled.exponent);
  result = conjugate_gradients<T>(a, b, x, options);
  scale(x, -scaled.exponent);
  return of.problem.to_dofs(all_of_parts(x, of.share.map, of.communicator, of.problem.form().unknowns), load);
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
    const auto all = communicator.gathered(std::vector{seconds});
    if (i > 0) samples.add(std::ranges::max(all)[0]);
  }
  return samples;
}

/// What all processes copy a second while all of them do: nothing is kept of it for other runs.
void measure_copies(const Communicator& communicator, Record& record) {
  communicator.sum(0.0);  // all begin together
  const CopyBandwidth copies = measure_copy_bandwidth(record.device);
  const bool known = communicator.sum(copies.bytes_per_second > 0 ? 0.0 : 1.0) == 0;
  const double all = communicator.sum(copies.bytes_per_second);
  record.machine.copy_bandwidth = known ? all : 0;
  if (!copies.remark.empty()) record.remarks.push_back(copies.remark);
}

template <std::floating_point T>
ProcessRecord record_of(const SharedRun& of, const DistributedOperator<T>& a, const Record& record) {
  const IndexMap& map = of.share.map;
  return {.cells = of.share.cells(),
          .interface_cells = std::ssize(of.share.interface.cells),
          .unknowns = map.owned,
          .ghosts = map.ghosts(),
          .neighbours = std::ssize(map.neighbours),
          .products = a.record().products,
          .messages = a.record().messages,
          .sent_bytes = a.record().sent_bytes,
          .stored_bytes = a.footprint().stored_bytes,
          .peak_memory_bytes = peak_memory(),
          .assembly = record.seconds.assembly,
          .conversion = record.seconds.conversion,
          .solve = record.seconds.solve,
          .multiplying = a.record().multiplying,
          .waiting = a.record().waiting};
}

/// The record of all processes, on the first.
template <std::floating_point T>
void complete_record(const SharedRun& of, const DistributedOperator<T>& a, Record& record) {
  DistributionRecord& all = record.distribution.emplace();
  all.partition = name(of.resolved.distribution.partition);
  all.mode = operators::name(a.mode());
  all.automatic_mode = of.resolved.distribution.mode == operators::ExchangeMode::automatic;
  if (a.device() == Device::cuda)
    all.transport = a.gpus_read_peers() ? "between GPUs (CUDA IPC)" : "through the hosts' memory";
  for (const auto& process : of.communicator.gathered(std::vector{record_of(of, a, record)}))
    all.processes.push_back(process.front());
  record.footprint = {};
  for (const auto& of_process : of.communicator.gathered(std::vector{a.footprint()})) {
    const operators::Footprint& part = of_process.front();
    record.footprint.stored_bytes += part.stored_bytes;
    record.footprint.moved_bytes += part.moved_bytes;
    record.footprint.effective_bytes += part.effective_bytes;
    record.footprint.flops += part.flops;
    record.footprint.nonzeros += part.nonzeros;
    record.footprint.padding_ratio = std::max(record.footprint.padding_ratio, part.padding_ratio);
  }
  record.memory.host_bytes =
      static_cast<std::int64_t>(of.communicator.sum(static_cast<double>(record.memory.host_bytes)));
  record.peak_memory_bytes = 0;
  for (const ProcessRecord& process : all.processes) record.peak_memory_bytes += process.peak_memory_bytes;
}

/// The dofs of each load, one after the other, on all processes; of those that were begun.
template <std::floating_point T>
std::vector<std::vector<double>> solve(const SharedRun& of, const InitialUnknowns& initial, const StopRequested& stop,
                                       Progress& progress, Record& record) {
  const auto a = make_operator<T>(of, stop, progress, record);
  record.chosen = a->chosen();
  placed(of.resolved.solver.precision_place, [&] { require_range<T>(*a); });
  const PreconditionerChoice& choice = of.resolved.solver.preconditioner;
  const auto preconditioner =
      timed(record.seconds.conversion, [&] { return make_preconditioner<T>(choice.name, *a, choice.options); });
  record.preconditioner_chosen = preconditioner->chosen();
  const ProcessorTime before = processor_time();
  std::vector<std::vector<double>> solutions;
  for (const Load& load : of.problem.loads()) {
    CgResult result;
    result.reason = StopReason::interrupted;
    const bool started = record.loads.empty() || record.loads.back().solve.reason != StopReason::interrupted;
    const auto start = initial.empty() ? std::span<const double>() : std::span(initial[solutions.size()]);
    if (started)
      timed(record.seconds.solve,
            [&] { solutions.push_back(solve_load<T>(of, load, start, *a, *preconditioner, progress, result)); });
    if (load.name().empty())
      record.solve = std::move(result);
    else
      record.loads.push_back({load.name(), std::move(result), started, {}});
  }
  if (!record.loads.empty()) record.solve = all_of(record.loads);
  const bool refused = was_refused(processor_time() - before, record.machine.threads);
  if (of.communicator.sum(refused ? 1.0 : 0.0) > 0) record.remarks.emplace_back(refused_time);
  complete_record(of, *a, record);
  progress.step("timing the product");
  if (record.solve.reason != StopReason::interrupted) record.apply = time_products(*a, of.communicator);
  return solutions;
}

void measure_solutions(const SharedRun& of, const Probes& probes, const std::vector<std::vector<double>>& solutions,
                       Record& record) {
  for (std::size_t i = 0; i < solutions.size(); ++i) {
    const Quantities quantities = measure(of.problem, of.problem.loads()[i], probes, solutions[i]);
    (record.loads.empty() ? record.quantities : record.loads[i].quantities) = quantities;
  }
  if (of.resolved.problem.exact)
    record.errors = measure_errors(*of.resolved.problem.exact, of.problem, solutions.front());
}

/// The cells of this process that are written, ascending.
std::vector<std::int32_t> written_cells(const FormShare& share, const FileCells& to_write) {
  std::vector<std::int32_t> cells = share.interior.cells;
  cells.insert(cells.end(), share.interface.cells.begin(), share.interface.cells.end());
  std::ranges::sort(cells);
  if (to_write.numbers)
    std::erase_if(cells, [&](std::int32_t cell) { return !std::ranges::binary_search(*to_write.numbers, cell); });
  return cells;
}

/// A summary as it is printed, and as run.log has it.
std::string printed(const Case& resolved, const Record& record) {
  return fmt::format("{}\n{}{}  {:<11} {}{}\n", resolved.title.empty() ? resolved.name : resolved.title,
                     summary(record), summary(*record.distribution), "results", resolved.output.directory.string(),
                     to_text(record.files));
}

/// What the first process writes. The others' pieces come to it one by one: they need not see its disk.
void write_results(const SharedRun& of, const std::vector<std::vector<double>>& solutions, const std::string& piece,
                   Record& record) {
  const Case& resolved = of.resolved;
  mesh::FileGroup files(resolved.output.directory);
  std::vector<int> ranks;
  for (int rank = 0; resolved.output.vtu && rank < of.communicator.size(); ++rank) {
    const std::string text = rank == 0 ? piece : of.communicator.text_from(rank);
    if (text.empty()) continue;
    ranks.push_back(rank);
    files.add(piece_name(rank), text);
  }
  if (resolved.output.vtu)
    files.add(pieces_file, pieces_text(resolved, ranks, solutions.size()));
  else
    files.leave_out(pieces_file);
  leave_out_pieces(resolved.output.directory, ranks, files);
  files.leave_out("solution.vtu");
  if (resolved.output.boundary)
    files.add("boundary.vtu",
              [&](std::ostream& stream) { BoundaryFile(resolved, of.problem).write(stream, solutions); });
  else
    files.leave_out("boundary.vtu");
  record.files.written = files.bytes();
  files.add("case.yaml", to_yaml(resolved));
  files.add("residuals.csv", residuals_csv(record));
  leave_out_page(files);
  files.add("run.log", printed(resolved, record));
  files.add("result.json", to_text(to_json(record)));
  files.put_in_place();
}

}  // namespace

ExitStatus run_distributed(const Case& resolved, const Console& console, const StopRequested& stop,
                           const Communicator& communicator) {
  const bool first = communicator.is_first();
  Progress progress(console.progress && first);
  require_same(resolved, communicator);
  require_supported(resolved);
  Record record = begun_run(resolved);
  record.device = choose_shared_device(resolved, communicator, record.why_device);
  record.machine.device = device_name(record.device);

  progress.step("meshing");
  const mesh::Mesh mesh = timed(record.seconds.mesh, [&] { return make_shared_mesh(resolved, communicator); });
  progress.step("numbering the unknowns");
  const mesh::FunctionSpace space = timed(record.seconds.space, [&] { return make_space(resolved, mesh); });
  const Probes probes = locate_probes(resolved.output.probes, mesh);
  progress.step("assembling the load");
  const Problem problem = timed(record.seconds.space, [&] { return Problem(resolved.problem, space); });
  const InitialUnknowns initial = initial_unknowns(resolved, problem);
  const FileCells to_write(resolved, mesh);
  if (first) {
    prepare_directory(resolved.output.directory, {"case.yaml", "residuals.csv", pieces_file, "boundary.vtu",
                                                  "result.html", "solution.png", "run.log", "result.json"});
    record.files.expected = bytes_of_files(resolved, problem, SolutionFile(resolved, problem));
    require_disk(resolved.output.directory, record.files.expected);
  }
  record.problem = size_of(problem);
  record.remarks = mesh.remarks;
  record.remarks.insert(record.remarks.end(), problem.remarks().begin(), problem.remarks().end());
  if (!initial.empty()) record.remarks.push_back(begun_from(resolved));
  const bool cores_to_spare = check_threads(
      communicator, record.device == Device::host && resolved.distribution.mode == operators::ExchangeMode::automatic,
      record);
  progress.step("partitioning");
  const FormShare share = timed(record.seconds.space, [&] {
    return operators::share_of(problem.form(), partition(resolved, mesh, communicator), communicator.rank());
  });
  const SharedRun shared{resolved, problem, share, communicator, cores_to_spare};

  const std::vector<std::vector<double>> solutions = resolved.solver.precision == Precision::double_
                                                         ? solve<double>(shared, initial, stop, progress, record)
                                                         : solve<float>(shared, initial, stop, progress, record);
  progress.step("measuring the copy bandwidth");
  measure_copies(communicator, record);
  const bool converged = record.solve.reason == StopReason::converged;
  const ExitStatus status = converged ? ExitStatus::done : ExitStatus::not_converged;
  const std::vector<std::int32_t> cells = written_cells(share, to_write);
  std::string piece;
  if (resolved.output.vtu && !cells.empty())
    piece = piece_text(resolved, problem, cells, communicator.rank(), solutions);
  if (!first) {
    if (resolved.output.vtu) communicator.send_to_first(piece);
    communicator.sum(0.0);  // until all is written
    return status;
  }
  progress.step("measuring the solution");
  measure_solutions(shared, probes, solutions, record);
  progress.step("writing the results");
  write_results(shared, solutions, piece, record);
  write_result_page(resolved, record);
  communicator.sum(0.0);
  progress.clear();
  if (!console.quiet) fmt::print("{}", printed(resolved, record));
  return status;
}

}  // namespace femcg::solver
