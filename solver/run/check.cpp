#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "solver/coefficients/field.hpp"
#include "solver/fields/file_size.hpp"
#include "solver/fields/initial_solution.hpp"
#include "solver/fields/solution_file.hpp"
#include "solver/measures/measure.hpp"
#include "solver/messages/terminal.hpp"
#include "solver/messages/units.hpp"
#include "solver/prediction/choice.hpp"
#include "solver/prediction/iterations.hpp"
#include "solver/prediction/models/bandwidth_model.hpp"
#include "solver/problem/choose_device.hpp"
#include "solver/problem/make_mesh.hpp"
#include "solver/problem/problem_size.hpp"
#include "solver/run/run.hpp"
#include "solver/run/run_operator.hpp"

namespace femcg::solver {

namespace {

/// Files that a run will write, as a comment.
std::string expected_files(const OutputChoice& output, const SolutionLabel& label, const Problem& problem) {
  const std::int64_t bytes = bytes_of_files(output, problem, SolutionFile(output, label, problem));
  require_disk(output.directory, bytes);
  if (bytes == 0) return "";
  const std::optional<std::int64_t> there = free_disk(output.directory);
  return fmt::format("# Files that femcg run writes: about {}{}\n", scaled(static_cast<double>(bytes), "B"),
                     there ? fmt::format(", {} are free", scaled(static_cast<double>(*there), "B")) : "");
}

/// Predicted times of the operator, as comments; empty if the machine's speeds cannot be measured.
template <std::floating_point T>
std::string expected_times(const SolverChoice& solver, const Problem& problem, operators::Device device,
                           const OperatorChoice& op, std::optional<operators::MatrixRows<T>>& rows) {
  const Rates rates = rates_of(device);
  if (!rates.known()) return "";
  const PredictionInput of = prediction_input_of(solver, problem, device, expected_iterations(problem, solver));
  return "# What it is expected to take (femcg predict shows all operators):\n" +
         to_text(predict<T>(of, {op}, BandwidthModel(rates), rates, rows), "#   ");
}

/// Memory need of a run, and predicted times of its operator, as comments.
template <std::floating_point T>
std::string estimates(const SolverChoice& solver, const Problem& problem, operators::Device device,
                      const RunContext& context) {
  OperatorChoice op = solver.op;
  const bool known = device == operators::Device::host || has_gpu();  // a requested GPU may be on another host
  if (!known && is_automatic(op)) return "# operator auto: decided where the GPU is\n";
  Record record;
  record.device = device;
  const DistributionChoice whole;
  OperatorMaker<T> maker(problem, nullptr, solver, whole, false, context, record);
  std::string why;
  if (is_automatic(op)) {
    OperatorDecision decision = decide(prediction_input_of(solver, problem, device), 1);
    op = std::move(decision.named);
    op.place = solver.op.place;
    why = fmt::format("# operator auto: {}\n", decision.why);
  }
  const MemoryEstimate need = maker.need_of(op);
  const std::string with = is_automatic(solver.op) ? ", with " + op.name : "";
  return fmt::format("# Memory that femcg run needs beside the mesh{}:\n", with) + to_text(need, "#   ") +
         (known ? expected_times<T>(solver, problem, device, op, maker.rows()) : "") + why;
}

}  // namespace

std::string check(const Case& resolved, const Console& console) {
  SolverChoice solver = resolved.solver;
  Progress progress(console.progress);
  operators::Device device = choose_device(solver.device, solver.op);
  progress.step("meshing");
  require_memory_of_box(resolved, 1);
  const mesh::Mesh mesh = make_mesh(resolved.mesh);
  const mesh::FunctionSpace space = make_space(mesh, resolved.degree, resolved.mesh.place);
  std::vector<std::string> of_probes;
  locate_probes(resolved.output.probes, mesh, {}, &of_probes);
  require_memory_of_loads(resolved.problem, space);
  progress.step("checking the problem");
  const Problem problem(resolved.problem, space);
  initial_unknowns(solver, resolved.solution, problem);
  if (resolved.problem.exact) interpolate(FieldOnRegions(*resolved.problem.exact, "exact", mesh, std::nullopt), space);
  const std::string files = expected_files(resolved.output, resolved.solution, problem);
  progress.step("estimating the memory");
  std::string why_device;
  if (device == operators::Device::cuda && has_gpu())
    why_device = why_on_host(solver, problem.form().unknowns, std::ssize(problem.loads()), this_machine().threads);
  if (!why_device.empty()) device = operators::Device::host;
  std::string why_preconditioner;
  solver = with_preconditioner(solver, size_of(problem).unknowns, problem, device, 1, why_preconditioner);
  const StopRequested goes_on = [] { return false; };
  const RunContext context{operators::Communicator::alone(), progress, goes_on};
  const std::string expected = solver.precision == Precision::double_
                                   ? estimates<double>(solver, problem, device, context)
                                   : estimates<float>(solver, problem, device, context);
  progress.clear();
  for (const auto* warnings : {&mesh.warnings, &problem.warnings(), &std::as_const(of_probes)})
    for (const std::string& warning : *warnings) print_note(warning);
  if (!why_preconditioner.empty()) why_preconditioner = "# preconditioner auto: " + why_preconditioner + "\n";
  return expected + why_preconditioner + files + (why_device.empty() ? "" : "# device auto: " + why_device + "\n");
}

}  // namespace femcg::solver
