#include "solver/krylov/batched_cg.hpp"

#include <cmath>
#include <memory>

#include "solver/krylov/batch_queue.hpp"
#include "solver/krylov/recurrence.hpp"
#include "solver/krylov/several_systems.hpp"

namespace femcg::solver {

using operators::CgMultiScalars;
using operators::Device;
using operators::MultiScalar;
using operators::MultiVector;
using operators::Operator;
using operators::Vector;

namespace {

/// Classic recurrences of several systems, and their batches.
template <std::floating_point T>
struct ColumnRecurrences {
  ColumnRecurrences(const Operator<T>& a, const SystemsCgOptions<T>& options, int count, std::int64_t batch)
      : cg(a, Inverse<T>(options.preconditioner), batch > 1, count),
        running(cg.x().stride(), a.device()),
        scalars(batch, 0, cg.x().stride(), a.device(),
                [this](Vector<double>& numbers, std::int64_t place) {
                  return CgMultiScalars(numbers, place, MultiScalar(running, 0, cg.x().stride()));
                }),
        queue(
            scalars.numbers(), batch,
            [this](std::int64_t iterations) {
              scalars.go_on();
              cg.iterate(iterations, scalars);
            },
            sends_ahead(options.preconditioner)) {
    operators::clear(running);
    if (!options.captured) return;
    queue.warm_up();
    queue.record();
  }

  int stride() { return cg.x().stride(); }
  /// r'M^-1 r of the last iteration, the first scalar of the next.
  Vector<double> last_rz() {
    Vector<double> numbers(stride());
    operators::copy_bytes(scalars.last().rz.data(), running.device(), numbers.data(), Device::host, numbers.bytes());
    return numbers;
  }
  void set_last_rz(const Vector<double>& numbers) {
    operators::copy_bytes(numbers.data(), Device::host, scalars.last().rz.data(), running.device(), numbers.bytes());
  }

  ClassicCg<T, MultiVector> cg;
  Vector<double> running;  ///< 1 for every active column; the others are frozen
  BatchScalars<CgMultiScalars> scalars;
  BatchQueue queue;
};

/// Loop of at most as many systems as MultiVector takes.
template <std::floating_point T>
class BatchedLoop final : public SeveralSystems<T> {
 public:
  BatchedLoop(const Operator<T>& a, std::span<const Vector<T>> b, std::span<std::vector<double>> x, std::size_t first,
              const SystemsCgOptions<T>& options)
      : SeveralSystems<T>(a, b, x, first, options, CgMethod::batched), batch_(batch_of(options, a.device())) {}

 private:
  /// Iterates from the residuals until every recurrence has ended.
  void iterate(const std::vector<std::size_t>& members) override {
    fill(members);
    this->start_clock();
    while (this->running_count() > 0) {
      while (!recurrences_->queue.is_full()) {
        const std::int64_t left = this->iterations_left() - recurrences_->queue.iterations();
        if (left <= 0) break;
        recurrences_->queue.send(std::min(batch_, left));
      }
      const int before = this->running_count();
      examine();
      const int running = this->running_count();
      if (running == before) continue;
      if (running > 0 && 2 * running > recurrences_->stride()) {
        set_running();
        continue;
      }
      // Batches in flight also include these columns.
      while (!recurrences_->queue.is_empty() && this->running_count() > 0) examine();
      operators::synchronize(this->a().device());
      recurrences_->queue.drop();
      for (int column = 0; column < this->columns(); ++column)
        if (!this->is_running(column)) add_correction(column, *this->at(column).total);
      if (this->running_count() > 0) drop_frozen();
    }
    recurrences_.reset();
  }
  void add_correction(int column, std::vector<double>& x) override {
    this->add_column(recurrences_->cg.x(), column, 1, x);
  }
  /// Starts the recurrences of these systems.
  void fill(const std::vector<std::size_t>& members) {
    this->set_members(members);
    recurrences_ = std::make_unique<ColumnRecurrences<T>>(this->a(), this->options(), this->columns(), batch_);
    for (int column = 0; column < this->columns(); ++column) {
      this->at(column).result.delayed_update = recurrences_->cg.defers_x();
      this->move_residual(column, 1, recurrences_->cg.r());
    }
    recurrences_->cg.start(recurrences_->scalars.last());
    const Vector<double> rz = recurrences_->last_rz();
    for (int column = 0; column < this->columns(); ++column) this->at(column).energy.error().restart(rz[column]);
    set_running();
  }
  /// Examines the iterations of the oldest batch in flight.
  void examine() {
    const BatchQueue::Batch batch = recurrences_->queue.receive();
    for (std::int64_t i = 0; i != batch.iterations && this->running_count() > 0; ++i) {
      SystemsIteration iteration = this->begin_iteration();
      for (int column = 0; column < this->columns(); ++column) {
        if (!this->is_running(column)) continue;
        const IterationNumbers numbers = recurrences_->scalars.read(batch.numbers, i, column);
        if (const auto reason = breakdown_of_direction(numbers.energy)) {
          EnergyCriterion& energy = this->at(column).energy;
          if (*reason == StopReason::indefinite && energy.exhausts(this->at(column).result.relative_residual))
            this->stop(column, StopReason::converged, true);
          else
            this->stop(column, *reason);
          continue;
        }
        ++this->at(column).result.iterations;
        this->at(column).energy.error().add(numbers.energy, numbers.rz);
        if (const auto reason = breakdown_of_residual(numbers.rz, numbers.rr))
          this->stop(column, *reason);
        else
          this->reach(column, std::sqrt(numbers.rr) / this->at(column).norm_b, iteration);
      }
      this->end_iteration(iteration);
    }
  }
  void set_running() {
    Vector<double> ones(recurrences_->stride());
    for (int column = 0; column < recurrences_->stride(); ++column)
      ones[column] = column < this->columns() && this->is_running(column) ? 1 : 0;
    operators::copy(ones, recurrences_->running);
  }
  /// Continues with the active columns only.
  void drop_frozen() {
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
      const auto move = [&](MultiVector<T>& source, MultiVector<T>& target) {
        operators::get_column(source, from, {}, one);
        operators::set_column(one, {}, column, target);
      };
      move(old->cg.x(), recurrences_->cg.x());
      move(old->cg.r(), recurrences_->cg.r());
      move(old->cg.p(), recurrences_->cg.p());
    }
    recurrences_->set_last_rz(kept_rz);
    set_running();
    operators::synchronize(a.device());  // before the old vectors are freed
  }

  std::int64_t batch_;
  std::unique_ptr<ColumnRecurrences<T>> recurrences_;  ///< between two restarts
};

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
