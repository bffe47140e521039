#include "solver/compare/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>

#include "solver/compare/compare_auto.hpp"
#include "solver/compare/compare_entries.hpp"
#include "solver/compare/distributed_testbed.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/progress.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/messages/stopwatch.hpp"
#include "solver/problem/make_mesh.hpp"
#include "solver/problem/problem.hpp"
#include "solver/problem/problem_size.hpp"
#include "solver/problem/scaled_load.hpp"
#include "solver/report/comparison_files.hpp"
#include "solver/run/discretisation.hpp"
#include "solver/run/distributed_setup.hpp"

namespace femcg::solver {

using operators::Communicator;

namespace {

/// Throws InputError if a comparison does not support an option of CG in the case.
void check_choices(const SolverChoice& solver, const CompareChoice& choice) {
  if (solver.precision == Precision::mixed)
    throw InputError(at_place(solver.precision_place,
                              "femcg compare times products and iterations, which in mixed precision are those of "
                              "single precision: use solver.precision: single or double"));
  const bool several = choice.right_hand_sides.back() > 1;
  if (!several && takes_several(solver.method))
    throw InputError(
        at_place(solver.method_place, fmt::format("solver.cg: {} is for several right-hand sides; say how many in "
                                                  "compare.right_hand_sides, such as [1, 8]",
                                                  name(solver.method))));
  const CgLoop loop = solver.loop;
  if (several && (is_for_one_system(loop) || has_one_sum(solver.method)))
    throw InputError(
        at_place(choice.right_hand_sides_place,
                 fmt::format("CG for several right-hand sides has no {}; leave out one of the two",
                             loop == CgLoop::persistent ? "persistent kernel (solver.loop: persistent)"
                             : loop == CgLoop::fused    ? "passes inside the product (solver.loop: merged)"
                                                        : fmt::format("solver.cg: {}", name(solver.method)))));
}

void check(const std::vector<SweepPoint>& points, const Communicator& communicator) {
  const bool several = communicator.size() > 1;
  for (const SweepPoint& point : points) {
    if (several) require_same("case", to_yaml(point.resolved), communicator);
    check_choices(point.resolved.solver, point.resolved.compare);
    if (several) require_supported(point.resolved.output);
  }
}

/// Key of a point's mesh and coefficients: equal keys mean equal mesh and coefficients.
std::string key_of(Case resolved) {
  resolved.solver = {};
  resolved.output = {};
  resolved.compare = {};
  return to_yaml(resolved);
}

/// The values of a point as text, to precede a step's name.
std::string text_of(const SweepPoint& point) {
  std::string text;
  for (const auto& [key, value] : point.values) text += fmt::format("{} {}, ", key, value);
  return text;
}

ProblemData with_first_load(ProblemData data) {
  if (data.loads.size() > 1) data.loads.erase(data.loads.begin() + 1, data.loads.end());
  return data;
}

/// Warnings about the comparison of a problem whose case has `loads` loads.
std::vector<std::string> warnings_of(std::size_t loads, const mesh::Mesh& mesh, const Problem& problem, bool has_load) {
  std::vector<std::string> all = mesh.warnings;
  all.insert(all.end(), problem.warnings().begin(), problem.warnings().end());
  if (loads > 1)
    all.push_back(fmt::format("of {} loads the first, {}, is taken", loads, in_quotes(problem.loads().front().name())));
  if (!has_load) all.emplace_back("products only, no CG: the right-hand side is zero");
  return all;
}

/// Mesh, space and problem of the points with one key, on this process, with the first of the loads.
struct Discretisation {
  /// Collective. The communicator must outlive this object.
  Discretisation(const Case& of, const Communicator& communicator, Progress& progress);
  Discretisation(const Discretisation&) = delete;
  Discretisation& operator=(const Discretisation&) = delete;

  /// Right-hand side for System; none if it is zero.
  std::optional<std::span<const double>> load() const;

  std::string key;
  ProblemData data;
  mesh::MeshPart part;  ///< on one process: the whole mesh
  std::optional<mesh::FunctionSpace> space;
  operators::SharedDofs shared;
  std::optional<Problem> problem;
  bool has_load = false, divided = false;  ///< divided: over several processes
  operators::FormSubdomain subdomain;      ///< if divided
  std::vector<double> scaled_load;         ///< if divided, in the order of the subdomain's map
  Seconds seconds;
  std::vector<std::string> warnings;
};

Discretisation::Discretisation(const Case& of, const Communicator& communicator, Progress& progress)
    : key(key_of(of)), data(with_first_load(of.problem)), divided(communicator.size() > 1) {
  progress.step("meshing");
  require_memory_of_box(of, communicator.size());
  timed(seconds.mesh, [&] { part = make_mesh_part(of.mesh, of.distribution, communicator); });
  progress.step("numbering the unknowns and assembling the load");
  timed(seconds.space, [&] {
    space.emplace(make_space(part.mesh, of.degree, of.mesh.place));
    if (divided) shared = operators::SharedDofs(communicator, *space, part);
    problem.emplace(data, *space, shared);
    if (divided) subdomain = operators::subdomain_of(problem->form(), shared);
  });
  has_load = shared.any(std::ranges::any_of(problem->load(), [](double value) { return value != 0; }));
  if (has_load && divided)
    scaled_load = operators::to_map(solver::scaled_load(problem->load(), shared).values(), subdomain.map);
  warnings = warnings_of(of.problem.loads.size(), part.mesh, *problem, has_load);
}

std::optional<std::span<const double>> Discretisation::load() const {
  if (!has_load) return std::nullopt;
  return divided ? std::span<const double>(scaled_load) : std::span<const double>(problem->load());
}

/// Relative work of a point: roughly proportional to the matrix entries of its rows.
double weight(const Case& resolved) {
  const auto* box = std::get_if<mesh::BoxOptions>(&resolved.mesh.source);
  const int dimension = box != nullptr ? mesh::dimension(box->shape) : 3;
  double weight = std::pow(2.0, dimension * resolved.mesh.refine) * std::pow(resolved.degree + 2.0, dimension) *
                  (resolved.solver.precision == Precision::double_ ? 2 : 1);
  for (int axis = 0; box != nullptr && axis < dimension; ++axis) weight *= box->cells[axis] * resolved.degree + 1.0;
  return weight;
}

TimeLeft time_left_of(const std::vector<SweepPoint>& points) {
  std::vector<double> weights;
  for (const SweepPoint& point : points) weights.push_back(weight(point.resolved));
  return TimeLeft(std::move(weights));
}

/// Part of the records that all operators of a point share.
Record common_record(const Case& resolved, const Discretisation& made) {
  Record common;
  common.command = "compare";
  common.case_file = resolved.file.string();
  common.title = resolved.title;
  common.set = resolved.set;
  common.started = timestamp();
  common.machine = this_machine();
  common.problem = size_of(*made.problem);
  common.seconds = made.seconds;
  common.warnings = made.warnings;
  return common;
}

std::vector<BenchmarkResult> compare_point(const SweepPoint& point, const Discretisation& made, bool cores_to_spare,
                                           const std::vector<BenchmarkEntry>& entries,
                                           const ComparisonSettings& settings, const Communicator& communicator) {
  const SolverChoice& solver = point.resolved.solver;
  const System system{.form = &made.problem->form(),
                      .load = made.load(),
                      .preconditioner = solver.preconditioner,
                      .method = solver.method,
                      .loop = solver.loop,
                      .of = {&communicator, &made.part, made.divided ? &made.subdomain : nullptr},
                      .solves = sweeps_preconditioners(point.resolved.compare)
                                    ? std::optional(SolveLimits{solver.tolerance, solver.max_iterations})
                                    : std::nullopt};
  const Record common = common_record(point.resolved, made);
  std::vector<BenchmarkResult> rows;
  if (communicator.size() == 1) {
    rows = compare_operators(system, entries, settings, common);
  } else {
    const Subdomain subdomain{
        .division = division_of(made.subdomain, point.resolved.mesh, point.resolved.distribution, communicator),
        .form = &made.subdomain,
        .distribution = point.resolved.distribution,
        .cores_to_spare = cores_to_spare};
    rows = compare_operators(system, subdomain, entries, settings, common);
  }
  SolverChoice settled = solver;
  if (!rows.empty()) settled.preconditioner = rows.front().record.preconditioner;
  const double iterations = expected_iterations(*made.problem, settled, communicator);
  if (communicator.is_first()) add_predictions(rows, system, settings.precision, iterations, communicator.size());
  for (BenchmarkResult& row : rows) row.sweep.insert(point.values.begin(), point.values.end());
  return rows;
}

}  // namespace

ExitStatus compare(const std::vector<SweepPoint>& points, const std::optional<Baseline>& baseline,
                   const Console& console, const StopRequested& stop, const Communicator& communicator) {
  check(points, communicator);
  const Case& first = points.front().resolved;
  const ComparedDevices devices = compared_devices(first.compare, first.distribution, communicator);
  std::vector<std::vector<BenchmarkEntry>> entries;  // for all points first: errors come before any work
  for (const SweepPoint& point : points) entries.push_back(choose_entries(point.resolved.compare, devices, false));
  Progress progress(console.progress && communicator.is_first());
  const TimeLeft time_left = time_left_of(points);
  ComparisonFiles files(first.output.directory, baseline, console, communicator.is_first());
  const auto stopped = [&] { return communicator.sum(stop() ? 1.0 : 0.0) > 0; };
  std::unique_ptr<Discretisation> made;
  bool cores_to_spare = false;
  for (std::size_t i = 0; i < points.size() && !stopped(); ++i) {
    const SweepPoint& point = points[i];
    const Case& resolved = point.resolved;
    if (!made || made->key != key_of(resolved)) {
      made.reset();
      made = std::make_unique<Discretisation>(resolved, communicator, progress);
      cores_to_spare = note_processes(devices, resolved.distribution, communicator, made->warnings);
      progress.clear();
      files.note(made->warnings);
    }
    const ComparisonSettings settings{resolved.solver.precision,
                                      resolved.compare.iterations,
                                      resolved.compare.repetitions,
                                      resolved.compare.right_hand_sides,
                                      [&](double done, const std::string& next) {
                                        progress.step(time_left.text(i, done) + text_of(point) + next);
                                        return !stop();
                                      },
                                      stop};
    std::vector<BenchmarkResult> rows = compare_point(point, *made, cores_to_spare, entries[i], settings, communicator);
    progress.clear();
    files.add(std::move(rows));
  }
  progress.clear();
  return files.finish(stopped());
}

}  // namespace femcg::solver
