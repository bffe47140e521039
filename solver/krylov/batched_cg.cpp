#include "solver/krylov/batched_cg.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>

#include "operators/backend/column_operations.hpp"
#include "operators/backend/recorded_work.hpp"
#include "operators/ordering.hpp"
#include "solver/krylov/restarts.hpp"

namespace femcg::solver {

using operators::CgColumnScalars;
using operators::Columns;
using operators::ColumnScalars;
using operators::Device;
using operators::Operator;
using operators::Vector;

namespace {

/// The vectors and scalars of several recurrences, in batches of so many iterations.
template <std::floating_point T>
class ColumnRecurrences {
 public:
  ColumnRecurrences(const Operator<T>& a, const Preconditioner<T>* preconditioner, int count, std::int64_t batch)
      : a_(a),
        operations_(operators::column_operations<T>(a.device())),
        inverse_diagonal_(preconditioner != nullptr ? preconditioner->inverse_diagonal() : nullptr),
        applied_(preconditioner != nullptr && !preconditioner->is_fused() ? preconditioner : nullptr),
        batch_(batch),
        x_(a.size(), count, a.device()),
        r_(a.size(), count, a.device()),
        p_(a.size(), count, a.device()),
        w_(a.size(), count, a.device()),
        numbers_(CgColumnScalars::count * x_.stride() * (batch + 1), a.device()),
        running_(x_.stride(), a.device()),
        run_(running_, 0, x_.stride()),
        mailboxes_(2) {
    if (applied_ != nullptr) z_ = Columns<T>(a.size(), count, a.device());
    if (batch > 1) second_p_ = Columns<T>(a.size(), count, a.device());
    for (std::int64_t i = 0; i <= batch; ++i)
      of_.emplace_back(numbers_, CgColumnScalars::count * x_.stride() * i, x_.stride());
    for (auto& mailbox : mailboxes_) mailbox.emplace(numbers_.size(), a.device());
    for (Columns<T>* columns : {&x_, &r_, &p_, &w_}) operators::clear(columns->entries());
    for (Columns<T>* columns : {&z_, &second_p_})
      if (columns->rows() > 0) operators::clear(columns->entries());
    operators::clear(numbers_);
    operators::clear(running_);
    if (a.device() == Device::host) return;
    iterate();  // kernels are loaded at their first launch, which must not be recorded
    recorded_.emplace(a.device(), [this] { iterate(); });
  }

  int stride() const { return x_.stride(); }
  Columns<T>& x() { return x_; }
  Columns<T>& r() { return r_; }
  Columns<T>& p() { return p_; }

  /// Begins with the residuals that r has.
  void start() {
    operators::clear(x_.entries());
    operations_.start(r_, inverse_diagonal_, p_, of_.back());
    if (applied_ == nullptr) return;
    applied_->apply(r_, p_);
    operations_.dot(r_, p_, of_.back().rz);
  }
  /// The columns whose numbers are 1; the others are frozen.
  void set_running(const Vector<double>& ones) { operators::copy(ones, running_); }
  /// r'M^-1 r of the last iteration, with which the next begins.
  Vector<double> last_rz() const {
    Vector<double> numbers(x_.stride());
    operators::copy_bytes(of_.back().rz.data(), a_.device(), numbers.data(), Device::host, numbers.bytes());
    return numbers;
  }
  void set_last_rz(const Vector<double>& numbers) {
    operators::copy_bytes(numbers.data(), Device::host, of_.back().rz.data(), a_.device(), numbers.bytes());
  }

  /// Gives the device a batch of iterations, and has their numbers sent.
  void send() {
    recorded_ ? recorded_->run() : iterate();
    mailboxes_[sent_++ % 2]->post(numbers_);
  }
  /// The numbers (numbers_) of the batch that was sent `in_flight` - 1 batches before the last.
  std::span<const double> receive(int in_flight) const { return mailboxes_[(sent_ - in_flight) % 2]->receive(); }

 private:
  void iterate() {
    operators::copy_bytes(of_.back().rz.data(), a_.device(), of_.front().rz.data(), a_.device(),
                          CgColumnScalars::count * x_.stride() * std::int64_t{sizeof(double)});
    std::int64_t i = 0;
    for (; i + 1 < batch_; i += 2) {
      move_residuals(p_, i);
      operations_.defer(of_[i], of_[i + 1], run_, residuals_for_directions(), inverse_diagonal_, p_, second_p_);
      move_residuals(second_p_, i + 1);
      operations_.catch_up(of_[i], of_[i + 1], of_[i + 2], run_, residuals_for_directions(), inverse_diagonal_,
                           second_p_, p_, x_);
    }
    for (; i < batch_; ++i) {
      move_residuals(p_, i);
      operations_.direction(of_[i], of_[i + 1], run_, residuals_for_directions(), inverse_diagonal_, p_, x_);
    }
  }
  /// r -= alpha A p, and the sums of the new r; z = M^-1 r where the passes cannot make it.
  void move_residuals(const Columns<T>& p, std::int64_t i) {
    a_.apply(p, w_, &of_[i].energy);
    operations_.update(of_[i], run_, w_, inverse_diagonal_, r_, of_[i + 1]);
    if (applied_ == nullptr) return;
    applied_->apply(r_, z_);
    operations_.dot(r_, z_, of_[i + 1].rz);
  }
  const Columns<T>& residuals_for_directions() const { return applied_ != nullptr ? z_ : r_; }

  const Operator<T>& a_;
  const operators::ColumnOperations<T>& operations_;
  const Vector<T>* inverse_diagonal_;
  const Preconditioner<T>* applied_;  ///< where M is not diagonal
  std::int64_t batch_;
  Columns<T> x_, r_, p_, w_;  ///< w is A p
  Columns<T> z_;              ///< M^-1 r where M is not diagonal
  Columns<T> second_p_;       ///< every other direction, where two iterations share a pass over x
  Vector<double> numbers_;    ///< of the iteration before a batch, and of its iterations
  Vector<double> running_;
  ColumnScalars run_;
  std::vector<CgColumnScalars> of_;
  std::vector<std::optional<operators::Mailbox>> mailboxes_;
  std::int64_t sent_ = 0;
  std::optional<operators::RecordedWork> recorded_;
};

/// The loop of as many systems as Columns takes.
template <std::floating_point T>
class BatchedLoop {
 public:
  BatchedLoop(const Operator<T>& a, std::span<const Vector<T>> b, std::span<std::vector<double>> x,
              std::size_t first_system, const BatchedCgOptions<T>& options)
      : a_(a),
        b_(b),
        first_system_(first_system),
        options_(options),
        batch_(options.check_every > 0      ? options.check_every
               : a.device() == Device::host ? 1
                                            : 16),
        systems_(b.size()) {
    for (std::size_t c = 0; c < b.size(); ++c) systems_[c].total = &x[c];
  }

  std::vector<CgResult> run();

 private:
  struct System {
    std::vector<double>* total = nullptr;  ///< x so far, without the correction that the recurrence is at
    std::vector<double> residual;          ///< of a restart
    double norm_b = 0;
    Restarts restarts;
    bool done = false;
    CgResult result;
  };

  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  void begin(System& system, const Vector<T>& b);
  void round();
  void fill(const std::vector<std::size_t>& members);
  void examine();
  void stop(int column, StopReason reason, bool at_tolerance);
  void set_running();
  void drop_frozen();
  void collect(int column);
  void judge(std::size_t c);
  std::vector<double> true_residual(std::size_t c) const;
  bool is_running(int column) const { return running_[static_cast<std::size_t>(column)]; }
  /// Until no system may iterate any more.
  std::int64_t iterations_left() {
    std::int64_t most = 0;
    for (int column = 0; column < static_cast<int>(running_.size()); ++column)
      if (is_running(column)) most = std::max(most, options_.max_iterations - at(column).result.iterations);
    return most;
  }
  int running_count() const { return static_cast<int>(std::ranges::count(running_, true)); }
  System& at(int column) { return systems_[members_[static_cast<std::size_t>(column)]]; }

  const Operator<T>& a_;
  std::span<const Vector<T>> b_;
  std::size_t first_system_;
  const BatchedCgOptions<T>& options_;
  std::int64_t batch_;
  std::vector<System> systems_;
  bool interrupted_ = false;
  std::chrono::steady_clock::time_point begin_;
  double counted_ = 0;  ///< seconds that the systems have their shares of
  // Of a round:
  std::unique_ptr<ColumnRecurrences<T>> recurrences_;
  std::vector<std::size_t> members_;  ///< the system of each column
  std::vector<bool> running_;         ///< of each column
  std::vector<bool> at_tolerance_;    ///< of each system: ended there, by its recurrence
  int in_flight_ = 0;                 ///< batches that were sent and not yet looked at
};

/// What can be said of a system before it is iterated.
template <std::floating_point T>
void BatchedLoop<T>::begin(System& system, const Vector<T>& b) {
  const Vector<T> on_host = operators::copied(b, Device::host);
  double bb = 0;
  bool zero = true;
  for (const T entry : on_host.span()) {
    bb += static_cast<double>(entry) * static_cast<double>(entry);
    zero = zero && entry == 0;
  }
  system.norm_b = std::sqrt(bb);
  system.total->assign(static_cast<std::size_t>(a_.size()), 0.0);
  system.result.method = CgMethod::batched;
  system.result.loop = CgLoop::launched;
  system.result.deferred = batch_ > 1;
  if (std::isfinite(bb) && bb > 0) {
    system.result.relative_residual = 1;
    system.result.history.push_back({0, 1.0, 0.0});
    system.residual.assign(on_host.span().begin(), on_host.span().end());
    return;
  }
  system.result.reason = zero ? StopReason::converged : StopReason::not_finite;
  system.done = true;
}

template <std::floating_point T>
std::vector<double> BatchedLoop<T>::true_residual(std::size_t c) const {
  const std::vector<double>& total = *systems_[c].total;
  if (options_.true_residual) return options_.true_residual(first_system_ + c, total);
  Vector<T> x(a_.size());
  std::copy(total.begin(), total.end(), x.data());
  const Vector<T> ordered = operators::to_ordering(a_, x);
  Vector<T> product(a_.size(), a_.device());
  a_.apply(ordered, product);
  const Vector<T> b = operators::copied(b_[c], Device::host),
                  q = operators::copied(operators::from_ordering(a_, product), Device::host);
  std::vector<double> r(total.size());
  for (std::int64_t i = 0; i < b.size(); ++i) r[i] = static_cast<double>(b[i]) - static_cast<double>(q[i]);
  return r;
}

/// The recurrences of these systems, at their beginning.
template <std::floating_point T>
void BatchedLoop<T>::fill(const std::vector<std::size_t>& members) {
  const auto count = static_cast<int>(members.size());
  recurrences_ = std::make_unique<ColumnRecurrences<T>>(a_, options_.preconditioner, count, batch_);
  members_ = members;
  running_.assign(members.size(), true);
  for (int column = 0; column < count; ++column) {
    Vector<T> r(a_.size());
    std::ranges::copy(at(column).residual, r.data());
    at(column).residual = {};
    operators::set_column(operators::copied(r, a_.device()), a_.ordering(), column, recurrences_->r());
  }
  recurrences_->start();
  set_running();
}

template <std::floating_point T>
void BatchedLoop<T>::set_running() {
  Vector<double> ones(recurrences_->stride());
  for (int column = 0; column < recurrences_->stride(); ++column)
    ones[column] = column < static_cast<int>(running_.size()) && is_running(column) ? 1 : 0;
  recurrences_->set_running(ones);
}

template <std::floating_point T>
void BatchedLoop<T>::stop(int column, StopReason reason, bool at_tolerance) {
  at(column).result.reason = reason;
  at_tolerance_[members_[static_cast<std::size_t>(column)]] = at_tolerance;
  running_[static_cast<std::size_t>(column)] = false;
}

/// Looks at one iteration after the other of the oldest batch in flight.
template <std::floating_point T>
void BatchedLoop<T>::examine() {
  const std::span<const double> numbers = recurrences_->receive(in_flight_--);
  const int stride = recurrences_->stride();
  const auto number = [&](std::int64_t iteration, int which, int column) {
    return numbers[(iteration * CgColumnScalars::count + which) * stride + column];
  };
  enum { rz, rr, energy };
  for (std::int64_t i = 0; i < batch_ && running_count() > 0; ++i) {
    const double now = seconds(), share = (now - counted_) / running_count();
    counted_ = now;
    BatchedIteration reached{0, 0, 0, now};
    for (int column = 0; column < static_cast<int>(running_.size()); ++column) {
      if (!is_running(column)) continue;
      CgResult& result = at(column).result;
      result.seconds += share;
      const double p_energy = number(i, energy, column), new_rz = number(i + 1, rz, column),
                   new_rr = number(i + 1, rr, column);
      if (!std::isfinite(p_energy) || p_energy <= 0) {
        stop(column, std::isfinite(p_energy) ? StopReason::indefinite : StopReason::not_finite, false);
        continue;
      }
      ++result.iterations;
      if (!std::isfinite(new_rr) || !std::isfinite(new_rz) || new_rz < 0) {
        stop(column, new_rz < 0 ? StopReason::indefinite : StopReason::not_finite, false);
        continue;
      }
      result.relative_residual = std::sqrt(new_rr) / at(column).norm_b;
      result.history.push_back({result.iterations, result.relative_residual, now});
      reached.number = std::max(reached.number, result.iterations);
      reached.relative_residual = std::max(reached.relative_residual, result.relative_residual);
      if (result.relative_residual <= options_.tolerance)
        stop(column, StopReason::converged, true);
      else if (result.iterations >= options_.max_iterations)
        stop(column, StopReason::max_iterations, false);
    }
    reached.running = running_count();
    if (options_.monitor && !options_.monitor(reached)) {
      interrupted_ = true;
      for (int column = 0; column < static_cast<int>(running_.size()); ++column)
        if (is_running(column)) stop(column, StopReason::interrupted, false);
    }
  }
}

/// Adds the correction of a column to its system's total.
template <std::floating_point T>
void BatchedLoop<T>::collect(int column) {
  Vector<T> x(a_.size(), a_.device());
  operators::get_column(recurrences_->x(), column, a_.ordering(), x);
  const Vector<T> on_host = operators::copied(x, Device::host);
  std::vector<double>& total = *at(column).total;
  for (std::int64_t i = 0; i < x.size(); ++i) total[i] += static_cast<double>(on_host[i]);
}

/// Goes on with as many columns as run.
template <std::floating_point T>
void BatchedLoop<T>::drop_frozen() {
  const auto old = std::move(recurrences_);
  const std::vector<std::size_t> members = std::move(members_);
  const Vector<double> rz = old->last_rz();
  std::vector<int> kept;
  for (int column = 0; column < static_cast<int>(running_.size()); ++column)
    if (is_running(column)) kept.push_back(column);
  recurrences_ =
      std::make_unique<ColumnRecurrences<T>>(a_, options_.preconditioner, static_cast<int>(kept.size()), batch_);
  members_.clear();
  Vector<double> kept_rz(recurrences_->stride());
  operators::fill(kept_rz, 0.0);
  Vector<T> one(a_.size(), a_.device());
  for (int column = 0; column < static_cast<int>(kept.size()); ++column) {
    const int from = kept[static_cast<std::size_t>(column)];
    members_.push_back(members[static_cast<std::size_t>(from)]);
    kept_rz[column] = rz[from];
    const auto move = [&](Columns<T>& source, Columns<T>& target) {
      operators::get_column(source, from, {}, one);
      operators::set_column(one, {}, column, target);
    };
    move(old->x(), recurrences_->x());
    move(old->r(), recurrences_->r());
    move(old->p(), recurrences_->p());
  }
  recurrences_->set_last_rz(kept_rz);
  running_.assign(members_.size(), true);
  set_running();
  operators::synchronize(a_.device());  // before the old ones go
}

/// From the residuals to where every recurrence has ended.
template <std::floating_point T>
void BatchedLoop<T>::round() {
  std::vector<std::size_t> members;
  for (std::size_t c = 0; c < systems_.size(); ++c)
    if (!systems_[c].done) members.push_back(c);
  fill(members);
  at_tolerance_.assign(systems_.size(), false);
  operators::synchronize(a_.device());
  begin_ = std::chrono::steady_clock::now() -
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(counted_));
  while (running_count() > 0) {
    // A GPU has the next batch before the host looks at the one before.
    for (; in_flight_ < (a_.device() == Device::host ? 1 : 2) && in_flight_ * batch_ < iterations_left(); ++in_flight_)
      recurrences_->send();
    const int before = running_count();
    examine();
    const int running = running_count();
    if (running == before) continue;
    if (running > 0 && 2 * running > recurrences_->stride()) {
      set_running();
      continue;
    }
    // What is in flight is of these columns too.
    while (in_flight_ > 0 && running_count() > 0) examine();
    operators::synchronize(a_.device());
    in_flight_ = 0;
    for (int column = 0; column < static_cast<int>(running_.size()); ++column)
      if (!is_running(column)) collect(column);
    if (running_count() > 0) drop_frozen();
  }
  recurrences_.reset();
  for (const std::size_t c : members) judge(c);
}

/// Whether a system whose recurrence has ended is over: checks the tolerance against the residual recomputed.
template <std::floating_point T>
void BatchedLoop<T>::judge(std::size_t c) {
  System& system = systems_[c];
  CgResult& result = system.result;
  system.done = !at_tolerance_[c] || interrupted_;
  if (!at_tolerance_[c] && !options_.true_residual) return;
  system.residual = true_residual(c);
  result.true_relative_residual = norm(system.residual) / system.norm_b;
  if (!at_tolerance_[c]) return;
  if (result.true_relative_residual <= options_.tolerance) {
    system.done = true;
    return;
  }
  if (interrupted_) {
    result.reason = StopReason::interrupted;
    return;
  }
  const bool stagnated = system.restarts.stagnate(result.true_relative_residual);
  system.done = stagnated || result.iterations >= options_.max_iterations;
  if (system.done) result.reason = stagnated ? StopReason::stagnated : StopReason::max_iterations;
}

template <std::floating_point T>
std::vector<CgResult> BatchedLoop<T>::run() {
  for (std::size_t c = 0; c < systems_.size(); ++c) begin(systems_[c], b_[c]);
  if (options_.max_iterations == 0 || (options_.monitor && !options_.monitor({0, static_cast<int>(b_.size()), 1, 0}))) {
    interrupted_ = options_.max_iterations > 0;
    for (System& system : systems_) {
      if (system.done) continue;
      system.result.reason = interrupted_ ? StopReason::interrupted : StopReason::max_iterations;
      system.result.true_relative_residual = 1;  // of x = 0
      system.done = true;
    }
  }
  while (!std::ranges::all_of(systems_, &System::done)) round();
  std::vector<CgResult> results;
  for (System& system : systems_) {
    assert(system.result.reason != StopReason::converged || system.result.true_relative_residual <= options_.tolerance);
    results.push_back(std::move(system.result));
  }
  return results;
}

}  // namespace

template <std::floating_point T>
std::vector<CgResult> batched_conjugate_gradients(const Operator<T>& a, std::span<const Vector<T>> b,
                                                  std::vector<std::vector<double>>& x,
                                                  const BatchedCgOptions<T>& options) {
  x.resize(b.size());
  std::vector<CgResult> results;
  constexpr auto most = static_cast<std::size_t>(Columns<T>::most);
  for (std::size_t first = 0; first < b.size(); first += most) {
    const std::size_t count = std::min(most, b.size() - first);
    for (CgResult& result :
         BatchedLoop<T>(a, b.subspan(first, count), std::span(x).subspan(first, count), first, options).run())
      results.push_back(std::move(result));
    if (std::ranges::any_of(results, [](const CgResult& of) { return of.reason == StopReason::interrupted; })) break;
  }
  return results;
}

template std::vector<CgResult> batched_conjugate_gradients(const Operator<double>&, std::span<const Vector<double>>,
                                                           std::vector<std::vector<double>>&,
                                                           const BatchedCgOptions<double>&);
template std::vector<CgResult> batched_conjugate_gradients(const Operator<float>&, std::span<const Vector<float>>,
                                                           std::vector<std::vector<double>>&,
                                                           const BatchedCgOptions<float>&);

}  // namespace femcg::solver
