#include "solver/benchmark/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <new>
#include <ranges>
#include <stdexcept>

#include "solver/benchmark/iteration_bytes.hpp"
#include "solver/benchmark/testbed.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/refusal.hpp"
#include "solver/messages/stopwatch.hpp"
#include "solver/preconditioners/preconditioners.hpp"

namespace femcg::solver {

using operators::Communicator;
using operators::Device;
using operators::Vector;

namespace {

/// CG method for this number of right-hand sides, given the requested one.
CgMethod method_for(CgMethod asked, int right_hand_sides) {
  if (right_hand_sides == 1) return takes_several(asked) ? CgMethod::automatic : asked;
  return asked == CgMethod::block ? asked : CgMethod::batched;
}

/// True while nothing prevents the timing of a row.
bool is_open(const BenchmarkResult& row) { return row.outcome == Outcome::interrupted; }

/// Records in the row why it was not timed.
void fail(BenchmarkResult& row, const std::exception& error) {
  row.outcome = Outcome::failed;
  row.reason = reason_of(error);
  row.refused = is_refusal(error);
}

/// Records the check against the reference.
void note(const Agreement& found, BenchmarkResult& row) {
  row.agreement = found.difference;
  row.agreement_bound = found.bound;
  if (found.holds()) return;
  row.outcome = Outcome::disagrees;
  row.reason = std::isinf(found.difference)
                   ? "its product has entries that are not finite, or are not 0 in empty rows"
                   : fmt::format(
                         "its product differs from the reference by {:.1e} of the sum of its terms; rounding "
                         "explains {:.1e}",
                         found.difference, found.bound);
}

/// Records bandwidths of copies and of the link; their warnings follow those common to all records.
void note(const std::array<CopyBandwidth, 2>& bandwidths, const std::vector<std::string>& warnings, Record& record) {
  record.machine.copy_bandwidth = bandwidths[0].bytes_per_second;
  record.machine.link_bandwidth = bandwidths[1].bytes_per_second;
  if (record.device == Device::cuda) note_gpu(record.machine);
  record.warnings = warnings;
  for (const CopyBandwidth& each : bandwidths)
    if (!each.warning.empty()) record.warnings.push_back(each.warning);
}

/// Records times, with `iterations` iterations per repetition.
template <std::floating_point T>
void note(const TimedEntry<T>& timed, int iterations, BenchmarkResult& row) {
  row.outcome = Outcome::timed;
  row.reason.clear();
  row.record.apply = timed.product;
  row.iteration = timed.iteration;
  CgResult& solve = row.record.solve;
  solve.method = timed.method;
  solve.loop = timed.loop;
  solve.delayed_update = timed.delayed_update;
  solve.iterations = row.iteration.empty() ? 0 : iterations * row.right_hand_sides;
  solve.seconds = row.iteration.median() * static_cast<double>(solve.iterations);
  row.record.seconds.solve = solve.seconds;
}

/// One comparison in one precision. All processes execute the same steps.
template <std::floating_point T>
class Comparison {
 public:
  Comparison(const System& system, Testbed<T>& testbed, const ComparisonSettings& settings, const Record& common,
             const Communicator& communicator)
      : system_(system), testbed_(testbed), settings_(settings), common_(common), communicator_(communicator) {}

  std::vector<BenchmarkResult> run(const std::vector<BenchmarkEntry>& entries);

 private:
  using Rows = std::span<BenchmarkResult>;  ///< of one entry: a row per number of right-hand sides
  /// An operator that agreed with the reference, kept until it is timed.
  struct Contestant {
    Rows rows;
    MadeOperator<T> made;
    std::unique_ptr<Preconditioner<T>> preconditioner;
    double preconditioner_seconds = 0;
  };
  /// A row whose product agreed, with its operator.
  struct Turn {
    BenchmarkResult* row;
    const Contestant* of;
  };

  bool step(const std::string& next) {
    ++steps_done_;
    return tell(next);
  }
  bool tell(const std::string& next) {
    const auto stops = [&] { return settings_.go_on(static_cast<double>(steps_done_) / steps_, next) ? 0.0 : 1.0; };
    interrupted_ = interrupted_ || communicator_.sum(stops()) > 0;
    return !interrupted_;
  }
  PreconditionerChoice preconditioner_for(Device device, std::string* why = nullptr) const;
  void describe(const BenchmarkEntry& entry, BenchmarkResult& row) const;
  void assemble(const std::vector<BenchmarkEntry>& entries);
  void enter(const BenchmarkEntry& entry, Rows rows);
  void make(const BenchmarkEntry& entry, Rows rows);
  void require_assembly(const BenchmarkEntry& entry) const;
  std::int64_t require_memory_of(const BenchmarkEntry& entry, Rows rows) const;
  void require_memory_of(const BenchmarkEntry& entry, BenchmarkResult& row, std::int64_t reserved) const;
  std::array<CopyBandwidth, 2> bandwidths(Device device, bool streamed);
  void check(const BenchmarkEntry& entry, const Contestant& contestant, BenchmarkResult& row);
  void time_group();
  TimedEntry<T> timed_entry(const Turn& turn) const;
  void note_times(const Turn& turn, const TimedEntry<T>& timed) const;
  void solve(const Turn& turn, const TimedEntry<T>& timed) const;

  const System& system_;
  Testbed<T>& testbed_;
  const ComparisonSettings& settings_;
  const Record& common_;
  const Communicator& communicator_;
  std::string assembly_failure_;
  bool assembly_refused_ = false;
  std::map<Device, std::vector<Vector<T>>> loads_;
  std::map<Device, CopyBandwidth> copy_bandwidth_;
  std::optional<CopyBandwidth> link_bandwidth_;
  std::optional<ReferenceProduct> reference_;
  std::vector<Contestant> group_;
  int steps_ = 1, steps_done_ = 0;
  bool interrupted_ = false;
};

template <std::floating_point T>
std::vector<BenchmarkResult> Comparison<T>::run(const std::vector<BenchmarkEntry>& entries) {
  const std::size_t numbers = settings_.right_hand_sides.size();
  std::vector<BenchmarkResult> rows(entries.size() * numbers);
  const auto rows_of = [&](std::size_t i) { return Rows(rows).subspan(i * numbers, numbers); };
  for (std::size_t i = 0; i < entries.size(); ++i)
    for (std::size_t k = 0; k < numbers; ++k) {
      rows_of(i)[k].right_hand_sides = settings_.right_hand_sides[k];
      describe(entries[i], rows_of(i)[k]);
    }
  steps_ = static_cast<int>(entries.size()) * (1 + settings_.repetitions * static_cast<int>(numbers)) + 1;
  if (!step("assembling")) return rows;
  assemble(entries);
  for (std::size_t i = 0; i < entries.size() && !interrupted_; ++i) {
    if (!step("making and checking " + entries[i].op.name)) break;
    if (entries[i].not_applicable.empty()) enter(entries[i], rows_of(i));
  }
  if (!interrupted_) time_group();
  return rows;
}

/// Preconditioner of an entry, with `auto` resolved; `why`, if not null, receives the reason.
template <std::floating_point T>
PreconditionerChoice Comparison<T>::preconditioner_for(Device device, std::string* why) const {
  PreconditionerChoice choice = system_.preconditioner;
  if (choice.name != automatic_preconditioner) return choice;
  choice.name = "jacobi";
  if (!system_.solves) return choice;
  const bool is_divided_matrix = system_.form == nullptr && communicator_.size() > 1;
  const PreconditionerDecision decision = decide_preconditioner(
      common_.problem.unknowns, 1, system_.form, device, communicator_.size(),
      is_divided_matrix ? "multigrid of a matrix is for one process" : why_diagonal(system_.method, system_.loop));
  choice.name = decision.name;
  if (why != nullptr) *why = decision.why;
  return choice;
}

/// Records everything that is known before anything is built.
template <std::floating_point T>
void Comparison<T>::describe(const BenchmarkEntry& entry, BenchmarkResult& row) const {
  row.record = common_;
  row.record.op = entry.op;
  row.record.precision = settings_.precision;
  row.record.device = entry.device;
  row.record.machine.device = device_name(entry.device);
  row.record.preconditioner = preconditioner_for(entry.device, &row.record.why_preconditioner);
  row.sweep = entry.sweep;
  row.source = system_.source;
  row.reason = "stopped before it was timed";
  if (!entry.not_applicable.empty()) {
    row.outcome = Outcome::not_applicable;
    row.reason = entry.not_applicable;
  }
}

/// Assembles what the entries need; if that fails, the rows that need it report the failure.
template <std::floating_point T>
void Comparison<T>::assemble(const std::vector<BenchmarkEntry>& entries) try {
  testbed_.assemble(entries);
} catch (const std::exception& error) {
  assembly_failure_ = reason_of(error);
  assembly_refused_ = is_refusal(error);
}

template <std::floating_point T>
void Comparison<T>::require_assembly(const BenchmarkEntry& entry) const {
  if (assembly_failure_.empty() || entry.description().needs_on(entry.device) == operators::Needs::form) return;
  if (assembly_refused_) throw InputError(assembly_failure_);
  throw std::runtime_error(assembly_failure_);
}

/// Throws if a row's operator and CG do not fit in memory.
template <std::floating_point T>
void Comparison<T>::require_memory_of(const BenchmarkEntry& entry, BenchmarkResult& row, std::int64_t reserved) const {
  const std::int64_t load_bytes =
      system_.load ? settings_.right_hand_sides.back() * std::int64_t{sizeof(T)} * testbed_.size() : 0;
  const MemoryUser user{&entry.description(),
                        &entry.op.options,
                        entry.device,
                        find_preconditioner(preconditioner_for(entry.device).name),
                        method_for(system_.method, row.right_hand_sides),
                        system_.loop,
                        row.right_hand_sides,
                        load_bytes,
                        reserved};
  row.record.memory = testbed_.need_of(user);
  // A chunked matrix would adapt to the memory that others leave, and use all of it.
  if (row.record.memory.of_operator.in_chunks && !group_.empty())
    throw operators::OutOfMemory("a matrix in chunks has the GPU for itself");
  testbed_.require(row.record.memory, user);
}

/// The same for all rows of an entry, which share one operator. Returns the bytes that the operator must leave free:
/// the largest need of those right-hand sides that fit by themselves.
template <std::floating_point T>
std::int64_t Comparison<T>::require_memory_of(const BenchmarkEntry& entry, Rows rows) const {
  std::int64_t most = 0;
  const auto require = [&](BenchmarkResult& row, std::int64_t reserved) {
    try {
      require_memory_of(entry, row, reserved);
      most = std::max(most, row.record.memory.reserved_bytes);
    } catch (const std::bad_alloc& error) {
      if (!group_.empty()) throw;
      fail(row, error);
    } catch (const std::exception& error) {
      if (!is_refusal(error)) throw;
      fail(row, error);
    }
  };
  for (BenchmarkResult& row : rows) require(row, 0);
  for (BenchmarkResult& row : rows | std::views::filter(is_open))
    if (row.record.memory.reserved_bytes < most) require(row, most);
  return most;
}

/// Bandwidths of an entry's device, and of its link to the host; measured when first needed.
template <std::floating_point T>
std::array<CopyBandwidth, 2> Comparison<T>::bandwidths(Device device, bool streamed) {
  const auto [copies, is_new] = copy_bandwidth_.try_emplace(device);
  if (is_new) copies->second = testbed_.copy_bandwidth(device);
  if (streamed && !link_bandwidth_) link_bandwidth_ = measure_link_bandwidth();
  return {copies->second, streamed ? *link_bandwidth_ : CopyBandwidth()};
}

/// Records the properties of an operator, and checks its product with the row's right-hand sides against the reference.
template <std::floating_point T>
void Comparison<T>::check(const BenchmarkEntry& entry, const Contestant& contestant, BenchmarkResult& row) {
  const operators::Operator<T>& a = *contestant.made.a;
  row.record.seconds.conversion = contestant.made.conversion;
  row.record.chosen = a.chosen();
  row.record.seconds.preconditioner = contestant.preconditioner_seconds;
  if (contestant.preconditioner) {
    row.record.preconditioner_chosen = contestant.preconditioner->chosen();
    row.record.hierarchy = contestant.preconditioner->levels();
  }
  testbed_.note_made(entry, a, row);
  if (!reference_) reference_ = testbed_.reference();
  note(worst_of(communicator_, agreement(a, *reference_, unit_roundoff<T>(entry.op.options), row.right_hand_sides)),
       row);
}

/// Makes one operator and checks it. Throws what the operator throws.
template <std::floating_point T>
void Comparison<T>::make(const BenchmarkEntry& entry, Rows rows) {
  require_assembly(entry);
  const std::int64_t reserved = require_memory_of(entry, rows);
  if (std::ranges::none_of(rows, is_open)) return;
  const bool streamed =
      std::ranges::any_of(rows, [](const BenchmarkResult& row) { return row.record.memory.streamed_bytes > 0; });
  const auto measured = bandwidths(entry.device, streamed);  // first, while there is room for its arrays
  Contestant contestant{rows, testbed_.make(entry, reserved), nullptr, 0};
  MadeOperator<T>& made = contestant.made;
  const PreconditionerChoice choice = preconditioner_for(entry.device);
  if (system_.load)
    contestant.preconditioner = timed(contestant.preconditioner_seconds, [&] {
      return make_preconditioner(
          choice.name, *made.a, choice.options,
          {made.diagonal ? &*made.diagonal : nullptr, system_.form, system_.of, system_.matrix.get()});
    });
  made.diagonal.reset();
  for (BenchmarkResult& row : rows | std::views::filter(is_open)) try {
      note(measured, common_.warnings, row.record);
      check(entry, contestant, row);
    } catch (const std::bad_alloc& error) {
      if (!group_.empty()) throw;
      fail(row, error);
    }
  if (std::ranges::none_of(rows, is_open)) return;
  if (system_.load && !loads_.contains(entry.device))
    loads_.emplace(entry.device, testbed_.loads(settings_.right_hand_sides.back(), entry.device));
  group_.push_back(std::move(contestant));
}

/// Makes an operator. If it does not fit next to the others, times those first and frees them.
template <std::floating_point T>
void Comparison<T>::enter(const BenchmarkEntry& entry, Rows rows) try {
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
TimedEntry<T> Comparison<T>::timed_entry(const Turn& turn) const {
  const int count = turn.row->right_hand_sides;
  const MadeOperator<T>& made = turn.of->made;
  TimedEntry<T> entry{.a = made.a.get(),
                      .right_hand_sides = count,
                      .preconditioner = turn.of->preconditioner.get(),
                      .method = method_for(system_.method, count),
                      .loop = system_.loop,
                      .captured = made.captured && !(turn.of->preconditioner && turn.of->preconditioner->waits()),
                      .stop = made.stop};
  if (system_.load) entry.b = std::span(loads_.at(made.a->device())).first(static_cast<std::size_t>(count));
  return entry;
}

/// Times the present operators in an interleaved way, and frees them.
template <std::floating_point T>
void Comparison<T>::time_group() {
  const std::vector<Contestant> group = std::move(group_);
  group_.clear();
  std::vector<Turn> turns;
  std::vector<TimedEntry<T>> entries;
  for (const Contestant& contestant : group)
    for (BenchmarkResult& row : contestant.rows | std::views::filter(is_open))
      entries.push_back(timed_entry(turns.emplace_back(&row, &contestant)));
  if (turns.empty()) return;
  std::size_t taken = 0;
  const auto next = [&] {
    const BenchmarkResult& row = *turns[taken % turns.size()].row;
    return fmt::format("timing {}{}, repetition {} of {}", row.record.op.name,
                       row.right_hand_sides > 1 ? fmt::format(", {} right-hand sides", row.right_hand_sides) : "",
                       std::min<std::size_t>(taken / turns.size() + 1, settings_.repetitions), settings_.repetitions);
  };
  if (!tell(next())) return;
  const TimingSettings settings{.iterations = settings_.iterations,
                                .repetitions = settings_.repetitions,
                                .go_on =
                                    [&] {
                                      ++taken;
                                      return step(next());
                                    },
                                .stop = settings_.stop,
                                .communicator = communicator_};
  time_interleaved<T>(entries, settings, [&](std::size_t i, const std::exception& error) {
    if (communicator_.size() > 1) throw;  // other processes wait for this one: it ends all of them
    fail(*turns[i].row, error);
  });
  for (std::size_t i = 0; i < turns.size(); ++i)
    if (turns[i].row->outcome != Outcome::failed && !entries[i].product.empty()) {
      note_times(turns[i], entries[i]);
      if (!system_.solves || entries[i].iteration.empty() || turns[i].row->right_hand_sides > 1) continue;
      if (tell(fmt::format("solving with {}", turns[i].row->record.op.name))) solve(turns[i], entries[i]);
    }
}

/// Solves once to the tolerance.
template <std::floating_point T>
void Comparison<T>::solve(const Turn& turn, const TimedEntry<T>& timed) const {
  auto options = cg_options_of<CgOptions<T>>(timed, system_.solves->tolerance, system_.solves->max_iterations,
                                             timed.stop ? timed.stop : settings_.stop);
  options.method = system_.method;
  options.loop = system_.loop;
  std::vector<double> x;
  CgResult result = conjugate_gradients(*timed.a, timed.b.front(), x, options);
  if (result.reason != StopReason::interrupted) turn.row->solution = std::move(result);
}

template <std::floating_point T>
void Comparison<T>::note_times(const Turn& turn, const TimedEntry<T>& timed) const {
  BenchmarkResult& row = *turn.row;
  Record& record = row.record;
  note(timed, settings_.iterations, row);
  const bool refused = record.device == Device::host && was_refused(timed.processor, record.machine.threads);
  if (communicator_.sum(refused ? 1.0 : 0.0) > 0) record.warnings.emplace_back(refused_time);
  if (timed.indefinite)
    record.warnings.emplace_back(
        "CG met a direction p with p'Ap <= 0: the matrix is not positive definite, and CG does not solve with it; "
        "its times are those of iterations alone");
  testbed_.note_timed(*turn.of->made.a, row);
  if (turn.of->preconditioner == nullptr) return;
  const Preconditioner<T>& preconditioner = *turn.of->preconditioner;
  const std::int64_t products = products_of_iteration(preconditioner),
                     passes = bytes_beside_products(record.solve, preconditioner, row.right_hand_sides);
  row.iteration_bytes = products * record.footprint.moved_bytes +
                        static_cast<std::int64_t>(communicator_.sum(static_cast<double>(passes)));
  row.iteration_link_bytes = products * record.footprint.link_bytes;
}

}  // namespace

template <std::floating_point T>
std::vector<BenchmarkResult> compare_operators(const System& system, Testbed<T>& testbed,
                                               const std::vector<BenchmarkEntry>& entries,
                                               const ComparisonSettings& settings, const Record& common,
                                               const Communicator& communicator) {
  std::vector<BenchmarkResult> rows = Comparison<T>(system, testbed, settings, common, communicator).run(entries);
  relate(rows);
  return rows;
}

std::vector<BenchmarkResult> compare_operators(const System& system, const std::vector<BenchmarkEntry>& entries,
                                               const ComparisonSettings& settings, const Record& common) {
  const auto compare_in = [&]<class T>(T) {
    Testbed<T> testbed(system);
    return compare_operators<T>(system, testbed, entries, settings, common, Communicator::alone());
  };
  return settings.precision == Precision::double_ ? compare_in(double()) : compare_in(float());
}

template std::vector<BenchmarkResult> compare_operators(const System&, Testbed<double>&,
                                                        const std::vector<BenchmarkEntry>&, const ComparisonSettings&,
                                                        const Record&, const Communicator&);
template std::vector<BenchmarkResult> compare_operators(const System&, Testbed<float>&,
                                                        const std::vector<BenchmarkEntry>&, const ComparisonSettings&,
                                                        const Record&, const Communicator&);

}  // namespace femcg::solver
