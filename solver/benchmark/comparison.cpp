#include "solver/benchmark/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <ranges>
#include <span>
#include <stdexcept>

#include "operators/stored/io/number_range.hpp"
#include "solver/benchmark/agreement.hpp"
#include "solver/benchmark/copy_bandwidth.hpp"
#include "solver/benchmark/iteration_bytes.hpp"
#include "solver/benchmark/kept_bandwidth.hpp"
#include "solver/benchmark/processor_time.hpp"
#include "solver/benchmark/timing.hpp"
#include "solver/krylov/preconditioner.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/refusal.hpp"
#include "solver/messages/stopwatch.hpp"
#include "solver/problem/number_range.hpp"
#include "solver/problem/scaled_load.hpp"

namespace femcg::solver {

using operators::Device;
using operators::Needs;

std::string_view name(Outcome outcome) {
  constexpr std::array<std::string_view, 5> names{"timed", "disagrees", "failed", "not applicable", "interrupted"};
  return names[static_cast<int>(outcome)];
}

CgMethod method_for(CgMethod asked, int right_hand_sides) {
  if (right_hand_sides == 1) return takes_several(asked) ? CgMethod::automatic : asked;
  return asked == CgMethod::block ? asked : CgMethod::batched;
}

void fail(BenchmarkResult& row, const std::exception& error) {
  row.outcome = Outcome::failed;
  row.reason = reason_of(error);
  row.refused = is_refusal(error);
}

void note(const Agreement& found, BenchmarkResult& row) {
  row.agreement = found.difference;
  row.agreement_bound = found.bound;
  if (found.holds()) return;
  row.outcome = Outcome::disagrees;
  row.reason = std::isinf(found.difference)
                   ? "its product has entries that are not finite, or not 0 where nothing is added up"
                   : fmt::format(
                         "its product differs from the reference by {:.1e} of the terms that are added up; rounding "
                         "explains {:.1e}",
                         found.difference, found.bound);
}

namespace {

// Of the estimate of what caches do for x (Reguly & Giles 2012, section 5.5): rows that share a cache, and what a cache
// fetches at once.
constexpr std::int32_t rows_per_block = 512;
constexpr std::int64_t bytes_per_line(Device device) { return device == Device::host ? 64 : 32; }

/// One comparison in one precision.
template <std::floating_point T>
class Comparing {
 public:
  Comparing(const System& system, const ComparisonSettings& settings, const Record& common)
      : system_(system), settings_(settings), common_(common) {}

  std::vector<BenchmarkResult> run(const std::vector<BenchmarkEntry>& entries);

 private:
  using Rows = std::span<BenchmarkResult>;  ///< of one entry: a row for each number of right-hand sides
  /// An operator that agreed, until it is timed.
  struct Made {
    Rows rows;
    std::unique_ptr<operators::Operator<T>> a;
    std::unique_ptr<Preconditioner<T>> preconditioner;
  };
  /// A row whose product agreed, and what it is of.
  struct Turn {
    BenchmarkResult* row;
    const Made* made;
  };

  bool step(const std::string& next) {
    ++steps_done_;
    return tell(next);
  }
  bool tell(const std::string& next) {
    interrupted_ = interrupted_ || !settings_.go_on(static_cast<double>(steps_done_) / steps_, next);
    return !interrupted_;
  }
  void describe(const BenchmarkEntry& entry, BenchmarkResult& row) const;
  void assemble(const std::vector<BenchmarkEntry>& entries);
  void copy_loads(Device device);
  void enter(const BenchmarkEntry& entry, Rows rows);
  void make(const BenchmarkEntry& entry, Rows rows);
  void require_memory_of(const BenchmarkEntry& entry, BenchmarkResult& row, std::int64_t reserved) const;
  std::int64_t require_memory_of(const BenchmarkEntry& entry, Rows rows) const;
  void check(const BenchmarkEntry& entry, const operators::Operator<T>& a, BenchmarkResult& row);
  void time_group();
  const ReferenceProduct& reference();
  const CopyBandwidth& copy_bandwidth(Device device);
  const CopyBandwidth& link_bandwidth();
  void fill_in(BenchmarkResult& row, const operators::OperatorDescription& of, const operators::Operator<T>& a);

  const System& system_;
  const ComparisonSettings& settings_;
  const Record& common_;
  operators::ElementMatrices element_matrices_;
  std::shared_ptr<const operators::CsrMatrix<T>> matrix_;
  std::shared_ptr<const operators::MatrixStatistics> statistics_;
  std::map<Device, std::int64_t> cached_input_bytes_;
  double element_seconds_ = 0, matrix_seconds_ = 0;
  std::string assembly_failure_;
  bool assembly_refused_ = false;
  std::optional<ReferenceProduct> reference_;
  std::map<Device, std::vector<operators::Vector<T>>> loads_;
  std::map<Device, CopyBandwidth> copy_bandwidth_;
  std::optional<CopyBandwidth> link_bandwidth_;
  std::vector<Made> group_;
  int steps_ = 1, steps_done_ = 0;
  bool interrupted_ = false;
};

const operators::OperatorDescription& row_of(const BenchmarkEntry& entry) {
  return *operators::find_operator(entry.op.name);
}

/// The matrix of a file in the precision of the comparison.
std::shared_ptr<const operators::CsrMatrix<double>> converted(
    const std::shared_ptr<const operators::CsrMatrix<double>>& matrix, double) {
  return matrix;
}
std::shared_ptr<const operators::CsrMatrix<float>> converted(
    const std::shared_ptr<const operators::CsrMatrix<double>>& matrix, float) {
  if (const std::string why = operators::why_not_single(*matrix); !why.empty()) throw std::overflow_error(why);
  return std::make_shared<const operators::CsrMatrix<float>>(operators::to_single(*matrix));
}

/// Seconds of a step of the set-up: where it is short, the least of seven times, as the first use of a kernel or of
/// memory, or a thread that gets no processor, takes longer than the step, and would count against whichever operator
/// is the first. What prepare() does before each does not count.
template <class Prepare, class Step>
double least_seconds(const Prepare& prepare, const Step& step) {
  constexpr double is_short = 0.1;
  double least = std::numeric_limits<double>::infinity(), all = 0;
  for (int time = 0; time < 7 && all < is_short; ++time) {
    prepare();
    double seconds = 0;
    timed(seconds, step);
    least = std::min(least, seconds);
    all += seconds;
  }
  return least;
}

/// Assembles what the entries are made from. Where that fails, those who need it say so.
template <std::floating_point T>
void Comparing<T>::assemble(const std::vector<BenchmarkEntry>& entries) try {
  const auto needed = [&](Needs needs) {
    return std::ranges::any_of(entries, [&](const BenchmarkEntry& e) {
      return e.not_applicable.empty() && row_of(e).needs_on(e.device) == needs;
    });
  };
  std::optional<operators::MatrixRows<T>> rows;
  const auto count = [&] { rows.emplace(*system_.form); };
  if (system_.form != nullptr && (needed(Needs::matrix) || needed(Needs::element_matrices))) {
    if (needed(Needs::matrix)) matrix_seconds_ = least_seconds([] {}, count);
    require_memory(need_of_assembly<T>(*system_.form, rows ? &*rows : nullptr), "assembling");
    const auto assemble_cells = [&] { element_matrices_ = operators::assemble_element_matrices(*system_.form); };
    element_seconds_ = least_seconds([] {}, assemble_cells);
  }
  if (!needed(Needs::matrix)) return;
  const auto count_anew = [&] {
    matrix_.reset();
    if (system_.form != nullptr && !rows) count();
  };
  matrix_seconds_ += least_seconds(count_anew, [&] {
    matrix_ =
        system_.form != nullptr
            ? std::make_shared<const operators::CsrMatrix<T>>(operators::assemble(std::move(*rows), element_matrices_))
            : converted(system_.matrix, T());
    rows.reset();
  });
  statistics_ = std::make_shared<operators::MatrixStatistics>(operators::statistics(*matrix_));
  for (const Device device : {Device::host, Device::cuda})
    cached_input_bytes_[device] =
        operators::cached_input_bytes(matrix_->row_offsets.span(), matrix_->columns.span(), matrix_->rows,
                                      rows_per_block, sizeof(T), bytes_per_line(device));
} catch (const std::exception& error) {
  assembly_failure_ = reason_of(error);
  assembly_refused_ = is_refusal(error);
}

template <std::floating_point T>
const ReferenceProduct& Comparing<T>::reference() {
  if (!reference_)
    reference_ = system_.form != nullptr ? reference_product(*system_.form, pseudo_random(system_.unknowns()))
                                         : reference_product(*system_.matrix, pseudo_random(system_.unknowns()));
  return *reference_;
}

template <std::floating_point T>
const CopyBandwidth& Comparing<T>::copy_bandwidth(Device device) {
  const auto [found, missing] = copy_bandwidth_.try_emplace(device);
  if (missing) found->second = renewed_copy_bandwidth(device);
  return found->second;
}

template <std::floating_point T>
const CopyBandwidth& Comparing<T>::link_bandwidth() {
  if (!link_bandwidth_) link_bandwidth_ = measure_link_bandwidth();
  return *link_bandwidth_;
}

/// The right-hand sides on a device: the system's, and for the others its entries weighted by 1 + sin(c i) / 2, so that
/// no two are alike.
template <std::floating_point T>
void Comparing<T>::copy_loads(Device device) {
  if (system_.load.empty() || loads_.contains(device)) return;
  const mesh::Array<double> load = scaled_load(system_.load).values();
  std::vector<operators::Vector<T>> loads;
  for (int c = 0; c < settings_.right_hand_sides.back(); ++c) {
    operators::Vector<T> on_host(system_.unknowns());
    for (std::int64_t i = 0; i < on_host.size(); ++i)
      on_host[i] = static_cast<T>(load[static_cast<std::size_t>(i)] *
                                  (1 + 0.5 * std::sin(static_cast<double>(c) * static_cast<double>(i))));
    loads.push_back(operators::copied(on_host, device));
  }
  loads_.emplace(device, std::move(loads));
}

/// What is known before anything is built.
template <std::floating_point T>
void Comparing<T>::describe(const BenchmarkEntry& entry, BenchmarkResult& row) const {
  row.record = common_;
  row.record.op = entry.op;
  row.record.precision = settings_.precision;
  row.record.device = entry.device;
  row.record.machine.device = device_name(entry.device);
  row.record.preconditioner = system_.preconditioner;
  row.sweep = entry.sweep;
  row.source = system_.source;
  row.reason = "stopped before it was timed";
  if (!entry.not_applicable.empty()) {
    row.outcome = Outcome::not_applicable;
    row.reason = entry.not_applicable;
  }
}

/// The costs of an operator that was made.
template <std::floating_point T>
void Comparing<T>::fill_in(BenchmarkResult& row, const operators::OperatorDescription& of,
                           const operators::Operator<T>& a) {
  Record& record = row.record;
  const std::int64_t vector_bytes = std::int64_t{sizeof(T)} * a.size();
  record.footprint = a.footprint().of_columns(row.right_hand_sides, vector_bytes);
  record.chosen = a.chosen();
  record.seconds.assembly = of.needs_on(record.device) == Needs::form ? 0 : element_seconds_;
  if (of.needs == Needs::matrix) {
    record.seconds.assembly += matrix_seconds_;
    row.matrix = statistics_;
    if (row.right_hand_sides == 1)
      row.caching_bytes = record.footprint.moved_bytes - vector_bytes + cached_input_bytes_.at(record.device);
  }
}

/// Throws where a row's operator and CG do not fit.
template <std::floating_point T>
void Comparing<T>::require_memory_of(const BenchmarkEntry& entry, BenchmarkResult& row, std::int64_t reserved) const {
  const bool several = row.right_hand_sides > 1;
  const MemoryUser user{
      &row_of(entry),
      &entry.op.options,
      entry.device,
      find_preconditioner(system_.preconditioner.name),
      method_for(system_.method, row.right_hand_sides),
      system_.loop,
      row.right_hand_sides,
      !system_.load.empty() ? settings_.right_hand_sides.back() * std::int64_t{sizeof(T)} * system_.unknowns() : 0,
      reserved};
  row.record.memory = need_of_operator<T>(user, system_.form, matrix_.get());
  if (!system_.load.empty()) require_loop(row.record.memory, user);
  // It would make do with what the others leave, and takes all of that.
  if (row.record.memory.of_operator.in_chunks && !group_.empty())
    throw operators::OutOfMemory("a matrix in chunks has the GPU for itself");
  require_memory(row.record.memory, several ? fmt::format("CG for {} right-hand sides", row.right_hand_sides) : "it");
}

/// Of all rows of an entry, which have one operator: it leaves what the most right-hand sides need that are not too
/// many by themselves. Returns that.
template <std::floating_point T>
std::int64_t Comparing<T>::require_memory_of(const BenchmarkEntry& entry, Rows rows) const {
  std::int64_t most = 0;
  const auto require = [&](BenchmarkResult& row, std::int64_t reserved) {
    try {
      require_memory_of(entry, row, reserved);
      most = std::max(most, row.record.memory.reserved_bytes);
    } catch (const std::bad_alloc& error) {
      if (!group_.empty()) throw;
      fail(row, error);
    } catch (const std::invalid_argument& error) {
      fail(row, error);
    }
  };
  for (BenchmarkResult& row : rows) require(row, 0);
  for (BenchmarkResult& row : rows | std::views::filter(is_open))
    if (row.record.memory.reserved_bytes < most) require(row, most);
  return most;
}

/// Holds the product of a row's right-hand sides against the reference.
template <std::floating_point T>
void Comparing<T>::check(const BenchmarkEntry& entry, const operators::Operator<T>& a, BenchmarkResult& row) {
  note(agreement(a, reference(), unit_roundoff<T>(entry.op.options), row.right_hand_sides), row);
}

/// Makes one operator and checks it. Throws what the operator throws.
template <std::floating_point T>
void Comparing<T>::make(const BenchmarkEntry& entry, Rows rows) {
  const operators::OperatorDescription& of = row_of(entry);
  const Needs needs = of.needs_on(entry.device);
  if (needs != Needs::form && assembly_refused_) throw InputError(assembly_failure_);
  if (needs != Needs::form && !assembly_failure_.empty()) throw std::runtime_error(assembly_failure_);
  operators::Ingredients<T> from;
  from.device = entry.device;
  from.form = system_.form;
  if (needs == Needs::element_matrices) from.element_matrices = &element_matrices_;
  if (needs == Needs::matrix) from.matrix = matrix_;
  from.reserved_bytes = require_memory_of(entry, rows);
  if (std::ranges::none_of(rows, is_open)) return;
  const bool streamed =
      std::ranges::any_of(rows, [](const BenchmarkResult& row) { return row.record.memory.streamed_bytes > 0; });
  const CopyBandwidth& copies = copy_bandwidth(entry.device);  // first, while there is room for its arrays
  const CopyBandwidth link = streamed ? link_bandwidth() : CopyBandwidth();
  Made made{rows, nullptr, nullptr};
  const auto free = [&] { made.a.reset(); };
  const double conversion = least_seconds(free, [&] {
    made.a = of.make(from, entry.op.options);
    operators::synchronize(entry.device);
  });
  {
    std::optional<operators::Vector<T>> diagonal;
    if (system_.form != nullptr) diagonal = diagonal_in_range(*made.a);
    const PreconditionerChoice& choice = system_.preconditioner;
    if (!system_.load.empty())
      made.preconditioner = make_preconditioner(choice.name, *made.a, choice.options, diagonal ? &*diagonal : nullptr);
  }
  for (BenchmarkResult& row : rows | std::views::filter(is_open)) try {
      row.record.machine.copy_bandwidth = copies.bytes_per_second;
      if (row.record.device == Device::cuda) note_gpu(row.record.machine);
      row.record.remarks = common_.remarks;
      row.record.machine.link_bandwidth = link.bytes_per_second;
      for (const std::string& remark : {copies.remark, link.remark})
        if (!remark.empty()) row.record.remarks.push_back(remark);
      row.record.seconds.conversion = conversion;
      if (made.preconditioner) row.record.preconditioner_chosen = made.preconditioner->chosen();
      fill_in(row, of, *made.a);
      check(entry, *made.a, row);
    } catch (const std::bad_alloc& error) {
      if (!group_.empty()) throw;
      fail(row, error);
    }
  if (std::ranges::none_of(rows, is_open)) return;
  copy_loads(entry.device);
  group_.push_back(std::move(made));
}

template <std::floating_point T>
void Comparing<T>::enter(const BenchmarkEntry& entry, Rows rows) {
  make_or_time_first(
      rows, !group_.empty(), [&] { make(entry, rows); }, [&] { time_group(); });
}

/// Times the operators at hand in turn, and frees them.
template <std::floating_point T>
void Comparing<T>::time_group() {
  std::vector<Turn> turns;
  std::vector<TimedEntry<T>> entries;
  for (const Made& made : group_)
    for (BenchmarkResult& row : made.rows | std::views::filter(is_open)) {
      turns.push_back({&row, &made});
      entries.push_back({.a = made.a.get(),
                         .right_hand_sides = row.right_hand_sides,
                         .preconditioner = made.preconditioner.get(),
                         .method = method_for(system_.method, row.right_hand_sides),
                         .loop = system_.loop});
      if (!system_.load.empty())
        entries.back().b = std::span(loads_.at(made.a->device())).first(static_cast<std::size_t>(row.right_hand_sides));
    }
  if (turns.empty()) return;
  std::size_t taken = 0;
  const auto next = [&] {
    const BenchmarkResult& row = *turns[taken % turns.size()].row;
    return fmt::format("timing {}{}, repetition {} of {}", row.record.op.name,
                       row.right_hand_sides > 1 ? fmt::format(", {} right-hand sides", row.right_hand_sides) : "",
                       std::min<std::size_t>(taken / turns.size() + 1, settings_.repetitions), settings_.repetitions);
  };
  const auto go_on = [&] {
    ++taken;
    return step(next());
  };
  if (!tell(next())) {
    group_.clear();
    return;
  }
  const TimingSettings settings{settings_.iterations, settings_.repetitions, go_on, settings_.stop};
  time_in_turn<T>(entries, settings, [&](std::size_t i, const std::exception& error) { fail(*turns[i].row, error); });
  for (std::size_t i = 0; i < turns.size(); ++i) {
    BenchmarkResult& row = *turns[i].row;
    if (row.outcome == Outcome::failed || entries[i].product.empty()) continue;
    note(entries[i], settings_.iterations, row);
    if (row.record.device == Device::host && was_refused(entries[i].processor, row.record.machine.threads))
      row.record.remarks.emplace_back(refused_time);
    if (const Preconditioner<T>* preconditioner = turns[i].made->preconditioner.get()) {
      row.iteration_bytes = products_of_iteration(*preconditioner) * row.record.footprint.moved_bytes +
                            bytes_beside_products(row.record.solve, *preconditioner, row.right_hand_sides);
      row.iteration_link_bytes = products_of_iteration(*preconditioner) * row.record.footprint.link_bytes;
    }
  }
  group_.clear();
}

template <std::floating_point T>
std::vector<BenchmarkResult> Comparing<T>::run(const std::vector<BenchmarkEntry>& entries) {
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

}  // namespace

/// What the rows say of each other: break-even with the fastest csr of the same device, reduction against ellpack, and
/// the gain from several right-hand sides.
void relate(std::vector<BenchmarkResult>& rows) {
  const auto best = [&](std::string_view wanted, const BenchmarkResult& like) {
    const BenchmarkResult* found = nullptr;
    for (const BenchmarkResult& row : rows)
      if (row.record.op.name == wanted && row.record.device == like.record.device &&
          row.right_hand_sides == like.right_hand_sides && row.outcome == Outcome::timed &&
          (found == nullptr || row.ranked().median() < found->ranked().median()))
        found = &row;
    return found;
  };
  for (BenchmarkResult& row : rows) {
    if (row.outcome != Outcome::timed || row_of({row.record.op, {}, {}, {}}).needs != Needs::matrix) continue;
    if (const BenchmarkResult* ellpack = best("ellpack", row))
      row.data_reduction = 1 - static_cast<double>(row.record.footprint.stored_bytes) /
                                   static_cast<double>(ellpack->record.footprint.stored_bytes);
    const BenchmarkResult* csr = best("csr", row);
    if (csr == nullptr || row.record.op.name == "csr") continue;
    const double gain = csr->ranked().median() - row.ranked().median();
    if (gain > 0) row.break_even = std::ceil(row.record.seconds.conversion / gain);
  }
  const BenchmarkResult* alone = nullptr;
  for (BenchmarkResult& row : rows) {
    if (row.right_hand_sides == 1) {
      alone = &row;
    } else if (row.outcome == Outcome::timed && alone != nullptr && alone->outcome == Outcome::timed) {
      row.product_gain = row.right_hand_sides * alone->record.apply.median() / row.record.apply.median();
      if (!row.iteration.empty()) row.iteration_gain = alone->iteration.median() / row.iteration.median();
    }
  }
}

std::vector<BenchmarkResult> compare_operators(const System& system, const std::vector<BenchmarkEntry>& entries,
                                               const ComparisonSettings& settings, const Record& common) {
  std::vector<BenchmarkResult> rows = settings.precision == Precision::double_
                                          ? Comparing<double>(system, settings, common).run(entries)
                                          : Comparing<float>(system, settings, common).run(entries);
  relate(rows);
  return rows;
}

}  // namespace femcg::solver
