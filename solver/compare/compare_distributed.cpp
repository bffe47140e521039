#include "solver/compare/compare_distributed.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "solver/compare/compare_auto.hpp"
#include "solver/compare/compare_points.hpp"
#include "solver/compare/distributed_comparison.hpp"
#include "solver/messages/progress.hpp"
#include "solver/messages/stopwatch.hpp"
#include "solver/problem/make_mesh.hpp"
#include "solver/problem/number_range.hpp"
#include "solver/problem/scaled_load.hpp"
#include "solver/report/comparison_files.hpp"
#include "solver/run/distributed_setup.hpp"
#include "solver/run/operator_maker.hpp"

namespace femcg::solver {

using operators::Communicator;
using operators::Device;

namespace {

/// What this process has of what all operators of some points are tried on.
struct Discretisation {
  Discretisation(const Case& of, const Communicator& communicator, Progress& progress)
      : key(key_of(of)), resolved(with_first_load(of)) {
    progress.step("meshing");
    timed(seconds.mesh, [&] { part = make_mesh_part(resolved.mesh, resolved.distribution, communicator); });
    progress.step("numbering the unknowns and assembling the load");
    timed(seconds.space, [&] {
      space.emplace(make_space(part.mesh, resolved.degree, resolved.mesh.place));
      shared = operators::SharedDofs(communicator, *space, part);
      problem.emplace(resolved.problem, *space, shared);
      share = operators::share_of(problem->form(), shared);
    });
    const bool any = std::ranges::any_of(problem->load(), [](double value) { return value != 0; });
    has_load = communicator.sum(any ? 1.0 : 0.0) > 0;
    remarks = remarks_of(of, part.mesh, *problem, has_load);
  }
  Discretisation(const Discretisation&) = delete;
  Discretisation& operator=(const Discretisation&) = delete;

  std::string key;
  Case resolved;
  mesh::MeshPart part;
  std::optional<mesh::FunctionSpace> space;
  operators::SharedDofs shared;
  std::optional<Problem> problem;
  operators::FormShare share;
  bool has_load = false;
  Seconds seconds;
  std::vector<std::string> remarks;
};

void require_comparable(const Case& resolved) {
  check_point(resolved);
  require_supported(resolved.output);
  require_one_device(resolved);
}

/// The rows of a point, on the first process complete.
template <std::floating_point T>
std::vector<BenchmarkResult> compare_point(const Discretisation& made, const SweepPoint& point,
                                           const std::vector<BenchmarkEntry>& entries, bool cores_to_spare,
                                           Device device, const Communicator& communicator, const StopRequested& stop,
                                           Progress& progress) {
  const Case resolved = with_first_load(point.resolved);
  const SharedRun run{resolved, *made.problem, made.share, communicator};
  DistributedSystem system{.division = division_of(made.share, resolved.mesh, resolved.distribution, communicator),
                           .resolved = resolved,
                           .reference = reference_product(communicator, made.share),
                           .has_load = made.has_load,
                           .common = common_record(point.resolved, *made.problem, made.seconds, made.remarks),
                           .sweep = point.values,
                           .where = text_of(point)};
  system.common.device = device;
  system.common.machine.device = device_name(device);
  if (made.has_load) {
    system.load = operators::to_map(scaled_load(made.problem->load(), made.shared).values(), made.share.map);
    system.expected_iterations = expected_iterations(*made.problem, resolved.solver, communicator);
  }
  const MakeDistributed<T> make = [&](const OperatorChoice& op, Record& record) {
    const RunContext context{communicator, progress, stop};
    OperatorMaker<T> maker(*made.problem, &made.share, resolved.solver, resolved.distribution, cores_to_spare, context,
                           record);
    record.op = op;
    record.memory = maker.need_of(op);
    maker.require(record.memory, op);
    maker.assemble({op}, record.memory.reserved_bytes);
    auto a = maker.make(op);
    do_on_all(communicator, [&] { diagonal_in_range(*a); });
    return std::unique_ptr<operators::DistributedOperator<T>>(
        &dynamic_cast<operators::DistributedOperator<T>&>(*a.release()));
  };
  std::vector<BenchmarkResult> rows = compare_operators<T>(system, entries, make, stop, progress);
  if (communicator.is_first()) add_predictions(rows, run, system.expected_iterations);
  return rows;
}

}  // namespace

ExitStatus compare_distributed(const std::vector<SweepPoint>& points, const std::optional<Baseline>& baseline,
                               const Console& console, const StopRequested& stop, const Communicator& communicator) {
  const bool first = communicator.is_first();
  Progress progress(console.progress && first);
  for (const SweepPoint& point : points) {
    require_same("case", to_yaml(point.resolved), communicator);
    require_comparable(point.resolved);
  }
  std::string why_device;
  const Device device = choose_compared_device(points.front().resolved, communicator, why_device);
  std::vector<std::vector<BenchmarkEntry>> entries;
  for (const SweepPoint& point : points) entries.push_back(entries_on(device, point.resolved, false));
  std::optional<ComparisonFiles> files;
  if (first) files.emplace(points.front().resolved.output.directory, baseline, console);
  std::unique_ptr<Discretisation> made;
  bool stopped = false, cores_to_spare = false;
  for (std::size_t i = 0; i < points.size() && !stopped; ++i) {
    const SweepPoint& point = points[i];
    if (!made || made->key != key_of(point.resolved)) {
      made.reset();
      made = std::make_unique<Discretisation>(point.resolved, communicator, progress);
      Record threads;
      cores_to_spare = check_threads(
          communicator,
          device == Device::host && point.resolved.distribution.mode == operators::ExchangeMode::automatic, threads);
      std::ranges::move(threads.remarks, std::back_inserter(made->remarks));
      if (!why_device.empty()) made->remarks.push_back(why_device);
      progress.clear();
      if (first) files->note(made->remarks);
    }
    const auto compare_in = [&]<class T>(T) {
      return compare_point<T>(*made, point, entries[i], cores_to_spare, device, communicator, stop, progress);
    };
    auto rows = point.resolved.solver.precision == Precision::double_ ? compare_in(double()) : compare_in(float());
    progress.clear();
    if (first) files->add(std::move(rows));
    stopped = communicator.sum(stop() ? 1.0 : 0.0) > 0;
  }
  progress.clear();
  std::vector<ExitStatus> status(1, ExitStatus::done);
  if (first) status.front() = files->finish(stopped);
  communicator.broadcast(std::span(status), 0);
  return status.front();
}

}  // namespace femcg::solver
