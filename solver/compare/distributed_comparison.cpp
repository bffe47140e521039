#include "solver/compare/distributed_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "operators/catalogue.hpp"
#include "solver/benchmark/entries.hpp"
#include "solver/benchmark/iteration_bytes.hpp"
#include "solver/benchmark/timing.hpp"
#include "solver/krylov/preconditioner.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/run/distributed_setup.hpp"

namespace femcg::solver {

using operators::Communicator;
using operators::Device;
using operators::DistributedOperator;
using operators::Vector;

namespace {

/// One comparison in one precision.
template <std::floating_point T>
class Comparing {
 public:
  Comparing(const DistributedSystem& system, const MakeDistributed<T>& make, const StopRequested& stop,
            Progress& progress)
      : system_(system),
        make_(make),
        communicator_(system.division.communicator),
        device_(system.common.device),
        stop_(stop),
        progress_(progress),
        common_(system.common) {
    measure_copies(communicator_, common_);
    make_loads();
  }

  std::vector<BenchmarkResult> run(const std::vector<BenchmarkEntry>& entries) {
    const std::vector<int>& numbers = system_.resolved.compare.right_hand_sides;
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
  void make_loads();
  void describe(const BenchmarkEntry& entry, int right_hand_sides, BenchmarkResult& row) const;
  void enter(const BenchmarkEntry& entry, Rows rows);
  void make(const BenchmarkEntry& entry, Rows rows);
  void check(const BenchmarkEntry& entry, const DistributedOperator<T>& a, BenchmarkResult& row) const;
  void time_group();
  void fill_in(const Made& made, const TimedEntry<T>& timed, BenchmarkResult& row) const;

  const DistributedSystem& system_;
  const MakeDistributed<T>& make_;
  const Communicator& communicator_;
  Device device_;
  const StopRequested& stop_;
  Progress& progress_;
  Record common_;
  std::vector<Vector<T>> loads_;
  std::vector<Made> group_;
  bool stopped_ = false;
};

/// In the order of the map: the first load, and for more right-hand sides its entries weighted by 1 + sin(c i) / 2, so
/// that no two are alike.
template <std::floating_point T>
void Comparing<T>::make_loads() {
  const operators::IndexMap& map = system_.division.share.map;
  const int count = system_.has_load ? system_.resolved.compare.right_hand_sides.back() : 0;
  for (int c = 0; c < count; ++c) {
    Vector<T> on_host(map.size());
    for (std::int32_t i = 0; i < map.size(); ++i)
      on_host[i] = static_cast<T>(system_.load[i] *
                                  (1 + 0.5 * std::sin(static_cast<double>(c) * static_cast<double>(map.numbers[i]))));
    loads_.push_back(operators::copied(on_host, device_));
  }
}

template <std::floating_point T>
void Comparing<T>::describe(const BenchmarkEntry& entry, int right_hand_sides, BenchmarkResult& row) const {
  Record& record = row.record;
  record = common_;
  record.op = entry.op;
  record.precision = system_.resolved.solver.precision;
  record.preconditioner = system_.resolved.solver.preconditioner;
  row.right_hand_sides = right_hand_sides;
  row.sweep = entry.sweep;
  row.sweep.insert(system_.sweep.begin(), system_.sweep.end());
  row.source = system_.source;
  row.reason = "stopped before it was timed";
  if (entry.not_applicable.empty()) return;
  row.outcome = Outcome::not_applicable;
  row.reason = entry.not_applicable;
}

/// What is thrown here is thrown on all processes.
template <std::floating_point T>
void Comparing<T>::enter(const BenchmarkEntry& entry, Rows rows) {
  progress_.step(system_.where + "making and checking " + entry.op.name);
  make_or_time_first(
      rows, !group_.empty(), [&] { make(entry, rows); }, [&] { time_group(); });
}

template <std::floating_point T>
void Comparing<T>::make(const BenchmarkEntry& entry, Rows rows) {
  Record record = rows.front().record;
  Made made{rows, make_(entry.op, record), nullptr};
  Vector<T> x(made.a->size(), device_), y(made.a->size(), device_);
  for (operators::fill(x, T(1)); made.a->seeks_mode();) made.a->apply(x, y);
  const PreconditionerChoice& choice = system_.resolved.solver.preconditioner;
  if (system_.has_load) made.preconditioner = make_preconditioner<T>(choice.name, *made.a, choice.options);
  for (BenchmarkResult& row : rows) {
    row.record.seconds = record.seconds;
    row.record.memory = record.memory;
    row.record.chosen = made.a->chosen();
    if (operators::find_operator(entry.op.name)->needs == operators::Needs::matrix) row.matrix = system_.statistics;
    if (made.preconditioner) row.record.preconditioner_chosen = made.preconditioner->chosen();
    check(entry, *made.a, row);
  }
  group_.push_back(std::move(made));
}

template <std::floating_point T>
void Comparing<T>::check(const BenchmarkEntry& entry, const DistributedOperator<T>& a, BenchmarkResult& row) const {
  note(worst_of(communicator_,
                agreement(a, system_.reference, unit_roundoff<T>(entry.op.options), row.right_hand_sides)),
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
      entry.method = method_for(system_.resolved.solver.method, row.right_hand_sides);
      entry.loop = system_.resolved.solver.loop;
      entry.recorded = made.a->gpus_run_alone();
      if (system_.has_load) entry.b = std::span(loads_).first(static_cast<std::size_t>(row.right_hand_sides));
      entry.stop = [a = made.a.get()] { return a->vector_operations().asked_to_stop(); };
    }
  const CompareChoice& choice = system_.resolved.compare;
  progress_.step(system_.where + "timing");
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
  note(timed, system_.resolved.compare.iterations, row);
  complete_record<T>(system_.division, *made.a, row.right_hand_sides, record);
  if (made.preconditioner == nullptr) return;
  row.expected_iterations = system_.expected_iterations;
  const double mine =
      static_cast<double>(bytes_beside_products(record.solve, *made.preconditioner, row.right_hand_sides));
  row.iteration_bytes = products_of_iteration(*made.preconditioner) * record.footprint.moved_bytes +
                        static_cast<std::int64_t>(communicator_.sum(mine));
}

}  // namespace

void require_one_device(const Case& resolved) {
  if (resolved.compare.devices.size() > 1)
    throw InputError(is_for_one_process("compare.devices with several", "name one, such as --device cpu"));
}

Device choose_compared_device(const Case& resolved, const Communicator& communicator, std::string& why) {
  Case asked = resolved;
  asked.solver.device = resolved.compare.devices.front();
  asked.solver.op = {};
  asked.solver.op.name = "auto";
  const bool any_on_gpu = std::ranges::any_of(expand_operators(resolved.compare), [](const SweptOperator& swept) {
    return operators::find_operator(swept.op.name)->cuda;
  });
  if (!any_on_gpu && asked.solver.device == "auto") asked.solver.device = "cpu";
  return choose_shared_device(asked.solver, asked.distribution, communicator, why);
}

std::vector<BenchmarkEntry> entries_on(Device device, const Case& resolved, bool matrix_only) {
  const CompareChoice& choice = resolved.compare;
  return choose_entries(
      {expand_operators(choice), choice.all_operators, {device == Device::cuda ? "cuda" : "cpu"}, matrix_only});
}

template <std::floating_point T>
std::vector<BenchmarkResult> compare_operators(const DistributedSystem& system,
                                               const std::vector<BenchmarkEntry>& entries,
                                               const MakeDistributed<T>& make, const StopRequested& stop,
                                               Progress& progress) {
  return Comparing<T>(system, make, stop, progress).run(entries);
}

template std::vector<BenchmarkResult> compare_operators(const DistributedSystem&, const std::vector<BenchmarkEntry>&,
                                                        const MakeDistributed<double>&, const StopRequested&,
                                                        Progress&);
template std::vector<BenchmarkResult> compare_operators(const DistributedSystem&, const std::vector<BenchmarkEntry>&,
                                                        const MakeDistributed<float>&, const StopRequested&, Progress&);

}  // namespace femcg::solver
