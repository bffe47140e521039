#include "solver/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "mesh/base/atomic_file.hpp"
#include "solver/benchmark/cached_bandwidth.hpp"
#include "solver/fields/file_size.hpp"
#include "solver/fields/initial_solution.hpp"
#include "solver/messages/stopwatch.hpp"
#include "solver/messages/terminal.hpp"
#include "solver/problem/problem_size.hpp"
#include "solver/problem/results_folder.hpp"
#include "solver/report/run_page.hpp"
#include "solver/run/distributed_record.hpp"
#include "solver/run/distributed_setup.hpp"
#include "solver/run/run_files.hpp"
#include "solver/run/run_quantities.hpp"
#include "solver/run/run_solve.hpp"

namespace femcg::solver {

using operators::Device;

namespace {

/// Determines the device of the run, and enters it in the record.
void settle_device(const SolverChoice& solver, DeviceStart& start, CachedParts& kept, const RunContext& context,
                   Record& record) {
  const Problem& problem = kept.discrete->problem;
  if (kept.made) {
    record.device = kept.device;
    record.why_device = kept.why_device;
  } else {
    if (start.may_be_gpu())
      record.why_device =
          why_on_host(solver, problem.form().unknowns, std::ssize(problem.loads()), record.machine.threads);
    if (record.why_device.empty()) {
      if (solver.device != "cpu" && operators::built_with_cuda()) context.progress.step("starting devices");
      record.device = start.device();
      record.why_device = start.why_on_host();
    }
  }
  if (kept.device != record.device) kept.copy_bandwidth = 0;
  kept.device = record.device;
  kept.why_device = record.why_device;
  record.machine.device = device_name(record.device);
}

/// Measures the reference bandwidths of products: of copies, by all processes at the same time, and of the host's link
/// if rows are streamed.
void measure_bandwidths(CachedParts& kept, const RunContext& context, Record& record) {
  context.progress.step("measuring the copy bandwidth", name(record.device));
  if (!context.alone()) return measure_copies(context.processes, record);
  record.peak_memory_bytes = peak_memory();
  const auto note = [&](const CopyBandwidth& measured, double& bandwidth) {
    bandwidth = measured.bytes_per_second;
    if (!measured.warning.empty() && std::ranges::find(record.warnings, measured.warning) == record.warnings.end())
      record.warnings.push_back(measured.warning);
  };
  if (record.machine.copy_bandwidth == 0) record.machine.copy_bandwidth = kept.copy_bandwidth;
  if (record.machine.copy_bandwidth == 0)  // unless measured before
    note(copy_bandwidth_of(record.device), record.machine.copy_bandwidth);
  kept.copy_bandwidth = record.machine.copy_bandwidth;
  if (record.footprint.link_bytes > 0) note(measure_link_bandwidth(), record.machine.link_bandwidth);
}

/// Summary for the terminal and run.log.
std::string printed(const Case& resolved, const Record& record) {
  return printable(fmt::format("{}\n{}{}  {:<11} {}{}\n", resolved.title.empty() ? resolved.name : resolved.title,
                               summary(record), record.distribution ? summary(*record.distribution) : "", "results",
                               resolved.output.directory.string(), to_text(record.files)));
}

/// Writes the results. The record gets the times of all steps except writing its own file and run.log, which are
/// written again if a picture is drawn from the files.
void write_results(const Case& resolved, const std::vector<std::vector<double>>& solutions, RunFiles& of_solutions,
                   mesh::FileGroup& files, const RunContext& context, Record& record) {
  of_solutions.add(solutions);
  if (context.processes.is_first()) {
    files.leave_out("study.csv");
    record.files.written = files.bytes();
    files.add("case.yaml", to_yaml(resolved));
    files.add("residuals.csv", residuals_csv(record));
    leave_out_page(files);
    record.steps = context.progress.times().list();
    files.add("run.log", printed(resolved, record));
    files.add("result.json", to_text(to_json(record)));
    files.put_in_place();
    std::string png;
    if (resolved.output.picture) {
      context.progress.step("drawing the picture");
      png = draw_picture(resolved.output);
      record.steps = context.progress.times().list();
      mesh::write_atomically(resolved.output.directory / "run.log", printed(resolved, record));
      mesh::write_atomically(resolved.output.directory / "result.json", to_text(to_json(record)));
    }
    write_result_page(resolved.output, record, png);
  }
  context.processes.sum(0.0);  // barrier: all files are written
}

}  // namespace

ExitStatus run(const Case& resolved, const Console& console, const StopRequested& stop,
               const operators::Communicator& processes) {
  const bool speaks = processes.is_first();
  Progress progress(console.progress && speaks);
  require_same("case", to_yaml(resolved), processes);
  CachedParts kept;
  const Record record = run_case(resolved, kept, true, {processes, progress, stop});
  progress.clear();
  if (!console.quiet && speaks) print(printed(resolved, record));
  return record.solve.reason == StopReason::converged ? ExitStatus::done : ExitStatus::not_converged;
}

Record run_case(const Case& resolved, CachedParts& kept, bool writes, const RunContext& context) {
  Progress& progress = context.progress;
  if (!context.alone()) require_supported(resolved.output);
  Record record = begun_run(resolved);

  // Mesh, function space, problem; a GPU starts concurrently.
  DeviceStart device(resolved.solver, resolved.distribution, context.processes);
  discretise(resolved, kept, device, context, record);
  const mesh::MeshPart& part = *kept.part;
  const Problem& problem = kept.discrete->problem;

  // Probes, the start of CG, the results folder.
  if (!resolved.output.probes.empty()) progress.step("locating probes");
  std::vector<std::string> of_probes;
  const Probes probes = locate_probes(resolved.output.probes, part.mesh, problem.shared(), &of_probes);
  if (!resolved.solver.initial.empty()) progress.step("reading the initial solution");
  const InitialUnknowns initial = initial_unknowns(resolved.solver, resolved.solution, problem, part.cell_numbers);
  progress.step("preparing the results");
  mesh::FileGroup files(resolved.output.directory);
  const std::unique_ptr<RunFiles> of_solutions =
      make_run_files(resolved.output, resolved.solution, problem, files, context);
  if (writes) {
    record.files.expected = of_solutions->expected_bytes();
    std::vector<std::string> names = of_solutions->names();
    for (const char* each : {"case.yaml", "residuals.csv", "result.html", "solution.png", "run.log", "result.json"})
      names.emplace_back(each);
    if (context.processes.is_first()) {
      prepare_directory(resolved.output.directory, names);
      require_disk(resolved.output.directory, record.files.expected);
    }
  }

  settle_device(resolved.solver, device, kept, context, record);
  record.problem = size_of(problem);
  record.warnings = part.mesh.warnings;
  for (const auto* warnings : {&problem.warnings(), &std::as_const(of_probes)})
    record.warnings.insert(record.warnings.end(), warnings->begin(), warnings->end());
  if (!resolved.solver.initial.empty()) record.warnings.push_back(begun_from(resolved.solver));

  // Operator, preconditioner, conjugate gradients.
  const SolverChoice solver = with_preconditioner(resolved.solver, record.problem.unknowns, problem, record.device,
                                                  context.processes.size(), record.why_preconditioner);
  record.preconditioner = solver.preconditioner;
  Solved solved = solve({solver, resolved.mesh, resolved.distribution, initial}, kept, context, record);

  // Quantities, fields, bandwidths, files.
  progress.step("measuring the solution");
  measure_solutions(problem, probes, solved, record);
  check_balances(solved.heat_lost, resolved.solver.tolerance, record);
  if (writes) {
    if (resolved.output.fields != OutputChoice().fields) progress.step("computing fields");
    of_solutions->prepare(solved.solutions);
  }
  measure_bandwidths(kept, context, record);
  if (writes) {
    progress.step("writing the results");
    write_results(resolved, solved.solutions, *of_solutions, files, context, record);
  }
  return record;
}

}  // namespace femcg::solver
