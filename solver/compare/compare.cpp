#include "solver/compare/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "solver/benchmark/entries.hpp"
#include "solver/compare/compare_auto.hpp"
#include "solver/compare/compare_points.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/progress.hpp"
#include "solver/messages/stopwatch.hpp"
#include "solver/prediction/iterations.hpp"
#include "solver/problem/make_mesh.hpp"
#include "solver/problem/problem.hpp"
#include "solver/report/comparison_files.hpp"

namespace femcg::solver {

namespace {

/// What depends on the mesh and the coefficients alone, kept from one point of a sweep to the next.
struct Discretisation {
  std::string key;  ///< the case without what only solver and output look at
  Case resolved;
  mesh::Mesh mesh;
  std::optional<mesh::FunctionSpace> space;
  std::optional<Problem> problem;
  Seconds seconds;

  bool has_load() const {
    return std::ranges::any_of(problem->load(), [](double value) { return value != 0; });
  }
  std::vector<std::string> remarks(const Case& of) const { return remarks_of(of, mesh, *problem, has_load()); }
};

std::unique_ptr<Discretisation> discretise(const Case& resolved, Progress& progress) {
  auto made = std::make_unique<Discretisation>();
  made->key = key_of(resolved);
  made->resolved = with_first_load(resolved);
  progress.step("meshing");
  made->mesh = timed(made->seconds.mesh, [&] { return make_mesh(resolved.mesh); });
  progress.step("numbering the unknowns and assembling the load");
  timed(made->seconds.space, [&] {
    made->space.emplace(make_space(made->mesh, resolved.degree, resolved.mesh.place));
    made->problem.emplace(made->resolved.problem, *made->space);
  });
  return made;
}

/// How much work a point is, up to a factor: about that of the entries of its rows.
double weight(const Case& resolved) {
  const auto* box = std::get_if<mesh::BoxOptions>(&resolved.mesh.source);
  const int dimension = box != nullptr ? mesh::dimension(box->shape) : 3;
  double weight = std::pow(2.0, dimension * resolved.mesh.refine) * std::pow(resolved.degree + 2.0, dimension) *
                  (resolved.solver.precision == Precision::double_ ? 2 : 1);
  for (int axis = 0; box != nullptr && axis < dimension; ++axis) weight *= box->cells[axis] * resolved.degree + 1.0;
  return weight;
}

}  // namespace

ExitStatus compare(const std::vector<SweepPoint>& points, const std::optional<Baseline>& baseline,
                   const Console& console, const StopRequested& stop) {
  std::vector<std::vector<BenchmarkEntry>> entries;  // of every point, so that what is wrong is told before any work
  for (const auto& [resolved, values] : points) {
    check_point(resolved);
    entries.push_back(
        choose_entries({expand_operators(resolved.compare), resolved.compare.all_operators, resolved.compare.devices}));
  }
  Progress progress(console.progress);
  std::vector<double> weights;
  for (const SweepPoint& point : points) weights.push_back(weight(point.resolved));
  const TimeLeft time_left(weights);
  ComparisonFiles files(points.front().resolved.output.directory, baseline, console);
  std::unique_ptr<Discretisation> made;
  for (std::size_t i = 0; i < points.size() && !stop(); ++i) {
    const SweepPoint& point = points[i];
    const Case& resolved = point.resolved;
    if (!made || made->key != key_of(resolved)) {
      made.reset();
      made = discretise(resolved, progress);
      progress.clear();
      files.note(made->remarks(resolved));
    }
    const Problem& problem = *made->problem;
    const System system{&problem.form(),
                        nullptr,
                        made->has_load() ? std::span<const double>(problem.load()) : std::span<const double>(),
                        resolved.solver.preconditioner,
                        nullptr,
                        resolved.solver.method,
                        resolved.solver.loop};
    const ComparisonSettings settings{resolved.solver.precision,
                                      resolved.compare.iterations,
                                      resolved.compare.repetitions,
                                      resolved.compare.right_hand_sides,
                                      [&](double done, const std::string& next) {
                                        progress.step(time_left.text(i, done) + text_of(point) + next);
                                        return !stop();
                                      },
                                      stop};
    std::vector<BenchmarkResult> rows = compare_operators(
        system, entries[i], settings, common_record(resolved, problem, made->seconds, made->remarks(resolved)));
    add_predictions(rows, system, resolved.solver.precision, expected_iterations(problem, resolved.solver));
    for (BenchmarkResult& row : rows) row.sweep.insert(point.values.begin(), point.values.end());
    progress.clear();
    files.add(std::move(rows));
  }
  progress.clear();
  return files.finish(stop());
}

}  // namespace femcg::solver
