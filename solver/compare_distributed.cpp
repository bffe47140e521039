#include "solver/compare_distributed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>

#include "operators/catalogue.hpp"
#include "solver/benchmark/agreement.hpp"
#include "solver/benchmark/comparison.hpp"
#include "solver/benchmark/entries.hpp"
#include "solver/benchmark/iteration_bytes.hpp"
#include "solver/benchmark/timing.hpp"
#include "solver/compare_points.hpp"
#include "solver/distributed_record.hpp"
#include "solver/distributed_setup.hpp"
#include "solver/krylov/preconditioner.hpp"
#include "solver/mapped_load.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/progress.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/problem/number_range.hpp"
#include "solver/problem/setup.hpp"
#include "solver/report/comparison_files.hpp"

namespace femcg::solver {

using operators::Communicator;
using operators::Device;
using operators::DistributedOperator;
using operators::Vector;

namespace {

/// What this process has of what all operators of some points are tried on.
struct Discretisation {
  Discretisation(const Case& of, const Communicator& communicator, Progress& progress)
      : key(key_of(of)), resolved(with_first_load(of)) {
    progress.step("meshing");
    timed(seconds.mesh, [&] { part = make_mesh_part(resolved, communicator); });
    progress.step("numbering the unknowns and assembling the load");
    timed(seconds.space, [&] {
      space.emplace(make_space(resolved, part.mesh));
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
  require_supported(resolved);
  const auto refuse = [](const std::string& what, const std::string& instead) {
    throw InputError(fmt::format("{} is for one process; {}, or start femcg without mpirun", what, instead));
  };
  const CompareChoice& choice = resolved.compare;
  if (choice.devices.size() > 1) refuse("compare.devices with several", "name one, such as --device cpu");
  if (is_gpu(choice.devices.front()) && choice.devices.front() != "cuda")
    refuse("device: " + choice.devices.front(), "use device: cuda");
}

/// One point of a sweep, in one precision.
template <std::floating_point T>
class Comparing {
 public:
  Comparing(const Discretisation& made, const SweepPoint& point, bool cores_to_spare, Device device,
            const Communicator& communicator, const StopRequested& stop, Progress& progress)
      : made_(made),
        point_(point),
        resolved_(with_first_load(point.resolved)),
        cores_to_spare_(cores_to_spare),
        device_(device),
        communicator_(communicator),
        stop_(stop),
        progress_(progress),
        common_(common_record(point.resolved, *made.problem, made.seconds, made.remarks)),
        reference_(reference_product(communicator, made.share)) {
    common_.device = device;
    common_.machine.device = device_name(device);
    measure_copies(communicator, common_);
    if (!made.has_load) return;
    loads_ = make_loads();
    expected_iterations_ = expected_iterations(shared_run(resolved_));
  }

  std::vector<BenchmarkResult> run(const std::vector<BenchmarkEntry>& entries) {
    const std::vector<int>& numbers = resolved_.compare.right_hand_sides;
    std::vector<BenchmarkResult> rows(entries.size() * numbers.size());
    for (std::size_t i = 0; i < entries.size(); ++i)
      for (std::size_t k = 0; k < numbers.size(); ++k) describe(entries[i], numbers[k], rows[i * numbers.size() + k]);
    for (std::size_t i = 0; i < entries.size() && goes_on(); ++i)
      if (entries[i].not_applicable.empty())
        enter(entries[i], std::span(rows).subspan(i * numbers.size(), numbers.size()));
    time_group();
    relate(rows);
    return rows;
  }

 private:
  using Rows = std::span<BenchmarkResult>;
  /// An operator that agreed, until it is timed.
  struct Made {
    Rows rows;
    std::unique_ptr<DistributedOperator<T>> a;
    std::unique_ptr<Preconditioner<T>> preconditioner;
  };

  /// The same on all processes.
  bool goes_on() {
    stopped_ = stopped_ || communicator_.sum(stop_() ? 1.0 : 0.0) > 0;
    return !stopped_;
  }
  std::vector<Vector<T>> make_loads() const;
  void describe(const BenchmarkEntry& entry, int right_hand_sides, BenchmarkResult& row) const;
  void enter(const BenchmarkEntry& entry, Rows rows);
  void make(const BenchmarkEntry& entry, Rows rows);
  void check(const BenchmarkEntry& entry, const DistributedOperator<T>& a, BenchmarkResult& row) const;
  void time_group();
  void fill_in(const Made& made, const TimedEntry<T>& timed, BenchmarkResult& row) const;
  SharedRun shared_run(const Case& resolved) const {
    return {resolved, *made_.problem, made_.share, communicator_, cores_to_spare_};
  }

  const Discretisation& made_;
  const SweepPoint& point_;
  const Case resolved_;
  bool cores_to_spare_;
  Device device_;
  const Communicator& communicator_;
  const StopRequested& stop_;
  Progress& progress_;
  Record common_;
  ReferenceProduct reference_;
  std::vector<Vector<T>> loads_;
  std::vector<Made> group_;
  double expected_iterations_ = 0;
  bool stopped_ = false;
};

/// In the order of the map: the first load, and for more right-hand sides its entries weighted by 1 + sin(c i) / 2, so
/// that no two are alike.
template <std::floating_point T>
std::vector<Vector<T>> Comparing<T>::make_loads() const {
  const operators::IndexMap& map = made_.share.map;
  const std::vector<double> load = MappedLoad(shared_run(resolved_), made_.problem->loads().front()).values();
  std::vector<Vector<T>> loads;
  for (int c = 0; c < resolved_.compare.right_hand_sides.back(); ++c) {
    Vector<T> on_host(map.size());
    for (std::int32_t i = 0; i < map.size(); ++i)
      on_host[i] =
          static_cast<T>(load[i] * (1 + 0.5 * std::sin(static_cast<double>(c) * static_cast<double>(map.numbers[i]))));
    loads.push_back(operators::copied(on_host, device_));
  }
  return loads;
}

template <std::floating_point T>
void Comparing<T>::describe(const BenchmarkEntry& entry, int right_hand_sides, BenchmarkResult& row) const {
  Record& record = row.record;
  record = common_;
  record.op = entry.op;
  record.precision = resolved_.solver.precision;
  record.preconditioner = resolved_.solver.preconditioner;
  row.right_hand_sides = right_hand_sides;
  row.sweep = entry.sweep;
  row.sweep.insert(point_.values.begin(), point_.values.end());
  row.reason = "stopped before it was timed";
  if (entry.not_applicable.empty()) return;
  row.outcome = Outcome::not_applicable;
  row.reason = entry.not_applicable;
}

/// Makes one operator; where it does not fit beside the others, those are timed first, and then given back. What is
/// thrown here is thrown on all processes.
template <std::floating_point T>
void Comparing<T>::enter(const BenchmarkEntry& entry, Rows rows) try {
  progress_.step(text_of(point_) + "making and checking " + entry.op.name);
  if (!group_.empty()) try {
      return make(entry, rows);
    } catch (const std::bad_alloc&) {
      time_group();
    }
  make(entry, rows);
} catch (const std::exception& error) {
  for (BenchmarkResult& row : rows) fail(row, error);
}

template <std::floating_point T>
void Comparing<T>::make(const BenchmarkEntry& entry, Rows rows) {
  Case resolved = resolved_;
  resolved.solver.op = entry.op;
  Record record = rows.front().record;
  Made made{rows, make_operator<T>(shared_run(resolved), stop_, progress_, record), nullptr};
  do_on_all(communicator_, [&] { require_range(*made.a); });
  Vector<T> x(made.a->size(), device_), y(made.a->size(), device_);
  for (operators::fill(x, T(1)); made.a->seeks_mode();) made.a->apply(x, y);
  const PreconditionerChoice& choice = resolved.solver.preconditioner;
  if (made_.has_load) made.preconditioner = make_preconditioner<T>(choice.name, *made.a, choice.options);
  for (BenchmarkResult& row : rows) {
    row.record.seconds = record.seconds;
    row.record.memory = record.memory;
    row.record.chosen = made.a->chosen();
    if (made.preconditioner) row.record.preconditioner_chosen = made.preconditioner->chosen();
    check(entry, *made.a, row);
  }
  group_.push_back(std::move(made));
}

template <std::floating_point T>
void Comparing<T>::check(const BenchmarkEntry& entry, const DistributedOperator<T>& a, BenchmarkResult& row) const {
  note(worst_of(communicator_, agreement(a, reference_, unit_roundoff<T>(entry.op.options), row.right_hand_sides)),
       row);
}

/// Times the operators at hand in turn, and frees them.
template <std::floating_point T>
void Comparing<T>::time_group() {
  std::vector<TimedEntry<T>> entries;
  std::vector<std::pair<const Made*, BenchmarkResult*>> turns;
  for (const Made& made : group_)
    for (BenchmarkResult& row : made.rows) {
      if (!is_open(row) || stopped_) continue;
      turns.emplace_back(&made, &row);
      TimedEntry<T>& entry = entries.emplace_back();
      entry.a = made.a.get();
      entry.right_hand_sides = row.right_hand_sides;
      entry.preconditioner = made.preconditioner.get();
      entry.method = method_for(resolved_.solver.method, row.right_hand_sides);
      entry.loop = resolved_.solver.loop;
      entry.recorded = made.a->gpus_run_alone();
      if (made_.has_load) entry.b = std::span(loads_).first(static_cast<std::size_t>(row.right_hand_sides));
      entry.stop = [a = made.a.get()] { return a->vector_operations().asked_to_stop(); };
    }
  const CompareChoice& choice = resolved_.compare;
  progress_.step(text_of(point_) + "timing");
  const TimingSettings settings{choice.iterations,
                                choice.repetitions,
                                [this] { return goes_on(); },
                                {},
                                [this](double seconds) { return slowest(communicator_, seconds); }};
  // A failure of one process is not one of the others, which wait for it: it ends all.
  if (!entries.empty()) time_in_turn<T>(entries, settings, [](std::size_t, const std::exception&) { throw; });
  for (std::size_t i = 0; i < turns.size(); ++i)
    if (!entries[i].product.empty()) fill_in(*turns[i].first, entries[i], *turns[i].second);
  group_.clear();
}

template <std::floating_point T>
void Comparing<T>::fill_in(const Made& made, const TimedEntry<T>& timed, BenchmarkResult& row) const {
  Record& record = row.record;
  note(timed, resolved_.compare.iterations, row);
  complete_record<T>(shared_run(resolved_), *made.a, row.right_hand_sides, record);
  if (made.preconditioner == nullptr) return;
  row.expected_iterations = expected_iterations_;
  const double mine =
      static_cast<double>(bytes_beside_products(record.solve, *made.preconditioner, row.right_hand_sides));
  row.iteration_bytes = products_of_iteration(*made.preconditioner) * record.footprint.moved_bytes +
                        static_cast<std::int64_t>(communicator_.sum(mine));
}

/// The rows of a point, on the first process complete.
std::vector<BenchmarkResult> compare_point(const Discretisation& made, const SweepPoint& point,
                                           const std::vector<BenchmarkEntry>& entries, bool cores_to_spare,
                                           Device device, const Communicator& communicator, const StopRequested& stop,
                                           Progress& progress) {
  const auto rows = [&]<class T>(T) {
    return Comparing<T>(made, point, cores_to_spare, device, communicator, stop, progress).run(entries);
  };
  return point.resolved.solver.precision == Precision::double_ ? rows(double()) : rows(float());
}

/// The devices of all processes, of which the entries are.
Device choose_device(const Case& resolved, const Communicator& communicator, std::string& why) {
  Case asked = resolved;
  asked.solver.device = resolved.compare.devices.front();
  asked.solver.op = {};
  asked.solver.op.name = "auto";
  const bool any_on_gpu = std::ranges::any_of(expand_operators(resolved.compare), [](const SweptOperator& swept) {
    return operators::find_operator(swept.op.name)->cuda;
  });
  if (!any_on_gpu && asked.solver.device == "auto") asked.solver.device = "cpu";
  return choose_shared_device(asked, communicator, why);
}

}  // namespace

ExitStatus compare_distributed(const std::vector<SweepPoint>& points, const std::optional<Baseline>& baseline,
                               const Console& console, const StopRequested& stop, const Communicator& communicator) {
  const bool first = communicator.is_first();
  Progress progress(console.progress && first);
  for (const SweepPoint& point : points) {
    require_same(point.resolved, communicator);
    require_comparable(point.resolved);
  }
  std::string why_device;
  const Device device = choose_device(points.front().resolved, communicator, why_device);
  std::vector<std::vector<BenchmarkEntry>> entries;
  for (const auto& [resolved, values] : points) {
    if (device == Device::cuda && resolved.compare.right_hand_sides.back() > 1)
      throw InputError(at_place(resolved.compare.right_hand_sides_place,
                                "several right-hand sides on several processes are for processors: use --device cpu"));
    entries.push_back(choose_entries({expand_operators(resolved.compare),
                                      resolved.compare.all_operators,
                                      {device == Device::cuda ? "cuda" : "cpu"}}));
  }
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
    auto rows = compare_point(*made, point, entries[i], cores_to_spare, device, communicator, stop, progress);
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
