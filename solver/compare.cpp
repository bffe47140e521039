#include "solver/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "solver/comparison_files.hpp"
#include "solver/entrants.hpp"
#include "solver/problem.hpp"
#include "solver/progress.hpp"
#include "solver/setup.hpp"

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
};

std::string key_of(Case resolved) {
  resolved.solver = {};
  resolved.output = {};
  resolved.compare = {};
  return to_yaml(resolved);
}

std::unique_ptr<Discretisation> discretise(const Case& resolved, Progress& progress) {
  auto made = std::make_unique<Discretisation>();
  made->key = key_of(resolved);
  made->resolved = resolved;
  progress.step("meshing");
  made->mesh = timed(made->seconds.mesh, [&] { return make_mesh(resolved); });
  progress.step("numbering the unknowns and assembling the load");
  timed(made->seconds.space, [&] {
    made->space.emplace(made->mesh, resolved.degree);
    made->problem.emplace(made->resolved, *made->space);
  });
  return made;
}

/// How much work a point is, up to a factor.
double weight(const Case& resolved) {
  const auto* box = std::get_if<mesh::BoxOptions>(&resolved.mesh.source);
  const int dimension = box != nullptr ? mesh::dimension(box->shape) : 3;
  double weight = std::pow(resolved.degree + 2.0, dimension) * (resolved.solver.precision == Precision::single ? 1 : 2);
  for (int axis = 0; box != nullptr && axis < dimension; ++axis) weight *= box->cells[axis] * resolved.degree + 1.0;
  return weight;
}

/// Says what is being done and how long all of it will still take.
class Clock {
 public:
  Clock(Progress& progress, const std::vector<SweepPoint>& points) : progress_(&progress) {
    for (const SweepPoint& point : points) total_ += weight(point.resolved);
  }
  void begin(const Case& resolved) {
    done_ += current_;
    current_ = weight(resolved);
  }
  void show(double done_of_point, const std::string& what) {
    const double done = (done_ + done_of_point * current_) / total_;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin_;
    std::string left;
    if (done > 0.02) left = fmt::format(", {} left", remaining(elapsed.count() * (1 - done) / done));
    progress_->step(fmt::format("{:.0f}%{}: {}", 100 * done, left, what));
  }

 private:
  static std::string remaining(double seconds) {
    return seconds < 90 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
  }

  Progress* progress_;
  double total_ = 0, done_ = 0, current_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

std::string description(const SweepPoint& point) {
  std::string text;
  for (const auto& [key, value] : point.values) text += fmt::format("{} {}, ", key, value);
  return text;
}

}  // namespace

ExitStatus compare(const std::vector<SweepPoint>& points, const std::optional<Baseline>& baseline,
                   const Console& console, const StopRequested& stop) {
  Progress progress(console.progress);
  Clock clock(progress, points);
  ComparisonFiles files(points.front().resolved.output.directory, baseline, console);
  std::unique_ptr<Discretisation> discretisation;
  for (const SweepPoint& point : points) {
    if (stop()) break;
    const Case& resolved = point.resolved;
    clock.begin(resolved);
    const std::vector<Entrant> entrants =
        choose_entrants({expand_operators(resolved.compare), resolved.compare.all_operators, resolved.compare.devices});
    if (!discretisation || discretisation->key != key_of(resolved)) {
      discretisation.reset();
      discretisation = discretise(resolved, progress);
    }
    const Problem& problem = *discretisation->problem;
    Record common;
    common.command = "compare";
    common.case_file = resolved.file.string();
    common.title = resolved.title;
    common.started = timestamp();
    common.machine = this_machine();
    common.problem = size_of(problem);
    common.seconds = discretisation->seconds;

    const System system{&problem.form(), nullptr, &problem.load(), resolved.solver.preconditioner, nullptr};
    const ComparisonSettings settings{resolved.solver.precision, resolved.compare.iterations,
                                      resolved.compare.repetitions, [&](double done, const std::string& next) {
                                        clock.show(done, description(point) + next);
                                        return !stop();
                                      }};
    std::vector<Compared> rows = compare_operators(system, entrants, settings, common);
    for (Compared& row : rows) row.sweep.insert(point.values.begin(), point.values.end());
    progress.clear();
    files.add(std::move(rows));
  }
  progress.clear();
  return files.finish();
}

}  // namespace femcg::solver
