#include "solver/krylov/batched_cg.hpp"

#include <cmath>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>

#include "operators/backend/passes/column_operations.hpp"
#include "operators/backend/recorded_work.hpp"
#include "operators/capabilities.hpp"

namespace femcg::solver {

using operators::CgColumnScalars;
using operators::Columns;
using operators::ColumnScalars;
using operators::Device;
using operators::Operator;
using operators::Vector;

namespace {

/// The passes that the operator brings with it, else femcg's own.
template <std::floating_point T>
const operators::ColumnOperations<T>& column_operations_for(const Operator<T>& a) {
  const auto* with = dynamic_cast<const operators::WithColumnOperations<T>*>(&a);
  return with != nullptr ? with->column_operations() : operators::column_operations<T>(a.device());
}

/// The vectors and scalars of several recurrences, in batches of so many iterations.
template <std::floating_point T>
class ColumnRecurrences {
 public:
  ColumnRecurrences(const Operator<T>& a, const SystemsCgOptions<T>& options, int count, std::int64_t batch)
      : a_(a),
        operations_(column_operations_for(a)),
        inverse_diagonal_(options.preconditioner != nullptr ? options.preconditioner->inverse_diagonal() : nullptr),
        applied_(options.preconditioner != nullptr && !options.preconditioner->is_fused() ? options.preconditioner
                                                                                          : nullptr),
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
    if (a.device() == Device::host || !options.recorded) return;
    iterate(batch_);  // kernels are loaded at their first launch, which must not be recorded
    recorded_.emplace(a.device(), [this] { iterate(batch_); });
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

  /// Gives the device so many iterations, a batch or, at the very end, less; and has their numbers sent.
  void send(std::int64_t iterations) {
    recorded_&& iterations == batch_ ? recorded_->run() : iterate(iterations);
    mailboxes_[sent_++ % 2]->post(numbers_);
  }
  /// The numbers (numbers_) of the batch that was sent `in_flight` - 1 batches before the last.
  std::span<const double> receive(int in_flight) const { return mailboxes_[(sent_ - in_flight) % 2]->receive(); }

 private:
  void iterate(std::int64_t iterations) {
    operators::copy_bytes(of_.back().rz.data(), a_.device(), of_.front().rz.data(), a_.device(),
                          CgColumnScalars::count * x_.stride() * std::int64_t{sizeof(double)});
    std::int64_t i = 0;
    for (; i + 1 < iterations; i += 2) {
      move_residuals(p_, i);
      operations_.defer(of_[i], of_[i + 1], run_, residuals_for_directions(), inverse_diagonal_, p_, second_p_);
      move_residuals(second_p_, i + 1);
      operations_.catch_up(of_[i], of_[i + 1], of_[i + 2], run_, residuals_for_directions(), inverse_diagonal_,
                           second_p_, p_, x_);
    }
    for (; i < iterations; ++i) {
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
  const operators::InverseDiagonal* inverse_diagonal_;
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
class BatchedLoop final : public SeveralSystems<T> {
 public:
  BatchedLoop(const Operator<T>& a, std::span<const Vector<T>> b, std::span<std::vector<double>> x, std::size_t first,
              const SystemsCgOptions<T>& options)
      : SeveralSystems<T>(a, b, x, first, options, CgMethod::batched),
        batch_(options.check_every > 0      ? options.check_every
               : a.device() == Device::host ? 1
                                            : 16) {}

 private:
  void iterate(const std::vector<std::size_t>& members) override;
  void fill(const std::vector<std::size_t>& members);
  void examine();
  void set_running();
  void drop_frozen();

  std::int64_t batch_;
  // Of a round:
  std::unique_ptr<ColumnRecurrences<T>> recurrences_;
  std::deque<std::int64_t> in_flight_;  ///< iterations of the batches that were sent and not yet looked at
};

/// The recurrences of these systems, at their beginning.
template <std::floating_point T>
void BatchedLoop<T>::fill(const std::vector<std::size_t>& members) {
  this->set_members(members);
  recurrences_ = std::make_unique<ColumnRecurrences<T>>(this->a(), this->options(), this->columns(), batch_);
  for (int column = 0; column < this->columns(); ++column) {
    this->at(column).result.deferred = batch_ > 1;
    this->move_residual(column, 1, recurrences_->r());
  }
  recurrences_->start();
  set_running();
}

template <std::floating_point T>
void BatchedLoop<T>::set_running() {
  Vector<double> ones(recurrences_->stride());
  for (int column = 0; column < recurrences_->stride(); ++column)
    ones[column] = column < this->columns() && this->is_running(column) ? 1 : 0;
  recurrences_->set_running(ones);
}

/// Looks at one iteration after the other of the oldest batch in flight.
template <std::floating_point T>
void BatchedLoop<T>::examine() {
  const std::span<const double> numbers = recurrences_->receive(static_cast<int>(in_flight_.size()));
  const std::int64_t sent = in_flight_.front();
  in_flight_.pop_front();
  const int stride = recurrences_->stride();
  const auto number = [&](std::int64_t iteration, int which, int column) {
    return numbers[(iteration * CgColumnScalars::count + which) * stride + column];
  };
  enum { rz, rr, energy };
  for (std::int64_t i = 0; i != sent && this->running_count() > 0; ++i) {
    SystemsIteration iteration = this->begin_iteration();
    for (int column = 0; column < this->columns(); ++column) {
      if (!this->is_running(column)) continue;
      const double p_energy = number(i, energy, column), new_rz = number(i + 1, rz, column),
                   new_rr = number(i + 1, rr, column);
      if (!std::isfinite(p_energy) || p_energy <= 0) {
        this->stop(column, std::isfinite(p_energy) ? StopReason::indefinite : StopReason::not_finite);
        continue;
      }
      ++this->at(column).result.iterations;
      if (!std::isfinite(new_rr) || !std::isfinite(new_rz) || new_rz < 0)
        this->stop(column, new_rz < 0 ? StopReason::indefinite : StopReason::not_finite);
      else
        this->reach(column, std::sqrt(new_rr) / this->at(column).norm_b, iteration);
    }
    this->end_iteration(iteration);
  }
}

/// Goes on with as many columns as run.
template <std::floating_point T>
void BatchedLoop<T>::drop_frozen() {
  const auto old = std::move(recurrences_);
  const Vector<double> rz = old->last_rz();
  std::vector<int> kept;
  std::vector<std::size_t> members;
  for (int column = 0; column < this->columns(); ++column)
    if (this->is_running(column)) {
      kept.push_back(column);
      members.push_back(this->members()[static_cast<std::size_t>(column)]);
    }
  this->set_members(std::move(members));
  const Operator<T>& a = this->a();
  recurrences_ = std::make_unique<ColumnRecurrences<T>>(a, this->options(), this->columns(), batch_);
  Vector<double> kept_rz(recurrences_->stride());
  operators::fill(kept_rz, 0.0);
  Vector<T> one(a.size(), a.device());
  for (int column = 0; column < this->columns(); ++column) {
    const int from = kept[static_cast<std::size_t>(column)];
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
  set_running();
  operators::synchronize(a.device());  // before the old ones go
}

/// From the residuals to where every recurrence has ended.
template <std::floating_point T>
void BatchedLoop<T>::iterate(const std::vector<std::size_t>& members) {
  fill(members);
  const Device device = this->a().device();
  this->start_clock();
  while (this->running_count() > 0) {
    // A GPU has the next batch before the host looks at the one before.
    while (in_flight_.size() < (device == Device::host ? 1 : 2)) {
      const std::int64_t left =
          this->iterations_left() - std::accumulate(in_flight_.begin(), in_flight_.end(), std::int64_t{0});
      if (left <= 0) break;
      in_flight_.push_back(std::min(batch_, left));
      recurrences_->send(in_flight_.back());
    }
    const int before = this->running_count();
    examine();
    const int running = this->running_count();
    if (running == before) continue;
    if (running > 0 && 2 * running > recurrences_->stride()) {
      set_running();
      continue;
    }
    // What is in flight is of these columns too.
    while (!in_flight_.empty() && this->running_count() > 0) examine();
    operators::synchronize(device);
    in_flight_.clear();
    for (int column = 0; column < this->columns(); ++column)
      if (!this->is_running(column)) this->add_correction(recurrences_->x(), column, 1);
    if (this->running_count() > 0) drop_frozen();
  }
  recurrences_.reset();
}

}  // namespace

template <std::floating_point T>
std::vector<CgResult> batched_conjugate_gradients(const Operator<T>& a, std::span<const Vector<T>> b,
                                                  std::vector<std::vector<double>>& x,
                                                  const SystemsCgOptions<T>& options) {
  return solve_in_turns<BatchedLoop<T>>(a, b, x, options);
}

template std::vector<CgResult> batched_conjugate_gradients(const Operator<double>&, std::span<const Vector<double>>,
                                                           std::vector<std::vector<double>>&,
                                                           const SystemsCgOptions<double>&);
template std::vector<CgResult> batched_conjugate_gradients(const Operator<float>&, std::span<const Vector<float>>,
                                                           std::vector<std::vector<double>>&,
                                                           const SystemsCgOptions<float>&);

}  // namespace femcg::solver
