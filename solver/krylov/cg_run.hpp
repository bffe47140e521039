#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "operators/ordering.hpp"
#include "solver/krylov/batch_queue.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/krylov/error_energy.hpp"
#include "solver/krylov/fused_recurrence.hpp"
#include "solver/krylov/one_sum_cg.hpp"
#include "solver/krylov/recurrence.hpp"
#include "solver/krylov/refined_solution.hpp"
#include "solver/krylov/restarts.hpp"
#include "solver/messages/error.hpp"

namespace femcg::solver {

/// Throws InputError if the options contradict each other. `fused`: M is I or diagonal.
template <std::floating_point T>
void check_choice(const CgOptions<T>& options, bool fused) {
  const bool classic = !has_one_sum(options.method) && options.loop != CgLoop::persistent;
  if (options.reliable_update > 0 && !classic)
    throw InputError(
        "reliable updates keep the direction of the classic method in launched passes: use solver.cg: classic and "
        "solver.loop: launched, or solver.precision: single");
  if (!fused && !classic)
    throw InputError(
        "methods with one sum and the persistent kernel need a diagonal preconditioner: use solver.cg: classic, "
        "or solver.preconditioner: jacobi");
}

/// Recurrence, loop and batch length: as requested, or chosen for the operator.
template <std::floating_point T>
struct CgPlan {
  /// Throws InputError if the requested options are incompatible.
  CgPlan(const operators::Operator<T>& a, const CgOptions<T>& options) : method(options.method) {
    const bool fused = options.preconditioner == nullptr || options.preconditioner->is_fused();
    check_choice(options, fused);
    if (fused && options.reliable_update == 0 && may_be_persistent(options.loop) && takes_one_kernel(method))
      persistent_ = operators::persistent_cg(a, persistent_for(options.loop));
    if (options.loop == CgLoop::persistent && persistent_ == nullptr)
      throw InputError(!takes_one_kernel(method)
                           ? "the persistent kernel is of the single-reduction method: use solver.cg: "
                             "single-reduction"
                           : "this operator has no persistent kernel on this device for a system of this size: use "
                             "solver.loop: launched");
    if (persistent_ != nullptr) loop = CgLoop::persistent;
    if (fused && !has_one_sum(method) && !takes_several(method) &&
        (options.loop == CgLoop::fused ||
         (options.loop == CgLoop::automatic && operators::fusing_pays(a.size(), sizeof(T)))))
      fused_ = dynamic_cast<const operators::WithFusedCg<T>*>(&a);
    if (options.loop == CgLoop::fused && fused_ == nullptr)
      throw InputError(!fused || has_one_sum(method)
                           ? "passes inside the product are of the classic method with a diagonal preconditioner: use "
                             "solver.cg: classic and solver.preconditioner: jacobi, or solver.loop: launched"
                           : "this operator makes no passes of CG inside its product on this device: use solver.loop: "
                             "launched");
    if (fused_ != nullptr) loop = CgLoop::fused;
    if (method == CgMethod::automatic) method = persistent_ != nullptr ? CgMethod::single_reduction : CgMethod::classic;
    batch = batch_of(options, a.device());
    if (options.check_every > 0) return;
    if (a.device() == operators::Device::host && method == CgMethod::pipelined)
      batch = 8;  // the pipelined recurrence waits for its sums at the end of a batch
    if (a.device() == operators::Device::cuda && persistent_ != nullptr) batch = 64;
  }
  /// To be called once.
  std::unique_ptr<Recurrence<T>> make_recurrence(const operators::Operator<T>& a, const Inverse<T>& m) {
    if (method == CgMethod::single_reduction)
      return std::make_unique<SingleReductionCg<T>>(a, m, std::move(persistent_));
    if (method == CgMethod::pipelined) return std::make_unique<PipelinedCg<T>>(a, m);
    if (fused_ != nullptr) return std::make_unique<MergedCg<T>>(a, m, *fused_);
    return std::make_unique<ClassicCg<T>>(a, m, batch > 1);
  }

  CgMethod method;
  CgLoop loop = CgLoop::launched;
  std::int64_t batch;

 private:
  std::unique_ptr<operators::PersistentCg<T>> persistent_;
  const operators::WithFusedCg<T>* fused_ = nullptr;
};

/// One run of CG on one system, without the recurrence's formulas and the stopping rule (cg.cpp): batches in flight,
/// the solution and its true residuals, restarts and reliable updates, resumption and checkpoint.
template <std::floating_point T>
class CgRun {
 public:
  CgRun(const operators::Operator<T>& a, const operators::Vector<T>& b, std::vector<double>& x,
        const CgOptions<T>& options)
      : a_(a),
        b_(b),
        options_(options),
        plan_(a, options),
        m_(options.preconditioner),
        recurrence_(plan_.make_recurrence(a, m_)),
        scalars_(plan_.batch, 1, 1, a.device(),
                 [](operators::Vector<double>& numbers, std::int64_t place) {
                   return operators::CgScalars(numbers, place);
                 }),
        queue_(
            scalars_.numbers(), plan_.batch,
            [this](std::int64_t iterations) {
              scalars_.go_on();
              recurrence_->iterate(iterations, scalars_);
            },
            sends_ahead(options.preconditioner)),
        x_(a, b, x, options, options.reliable_update > 0),
        energy_(options.energy, options.tolerance,
                options.preconditioner != nullptr && options.preconditioner->is_inverse()),
        reliable_update_(options.reliable_update) {
    result_.method = plan_.method;
    result_.loop = plan_.loop;
    result_.delayed_update = recurrence_->defers_x();
  }

  /// Starts with r = b - A x. False if there is nothing to iterate; the result says why.
  bool begin() {
    queue_.warm_up();
    if (plan_.loop == CgLoop::launched && options_.captured) queue_.record();
    operators::copy(operators::to_ordering(a_, b_), recurrence_->r());
    x_.begin(options_.before != nullptr || options_.from_x);  // after the temporary copies are freed
    scalars_.clear();
    recurrence_->start(scalars_.last());
    energy_.error().restart(scalars_.last().rz.value());
    const double bb = scalars_.last().rr.value();
    clock_.start();
    norm_b_ = std::sqrt(bb);
    if (!std::isfinite(norm_b_)) return stop(StopReason::not_finite);
    if (norm_b_ == 0) {
      x_.set_zero();
      const bool zero = std::ranges::all_of(operators::copied(b_, operators::Device::host).span(),
                                            [](T entry) { return entry == 0; });
      if (zero && energy_.is_on()) result_.energy_error = 0;
      return stop(zero ? StopReason::converged : StopReason::not_finite);
    }
    norm_b_ = energy_.norm(norm_b_);
    last_update_ = std::sqrt(bb) / norm_b_;
    if (options_.before == nullptr) return begin_from_x(bb);
    resume(*options_.before);
    return true;
  }
  /// Ends a run that has begun: records its time, and x as far as it is known.
  void end() {
    operators::synchronize(a_.device());
    result_.seconds = seconds();
    const bool is_collected = result_.reason == StopReason::converged || result_.reason == StopReason::stagnated;
    const bool is_left = options_.after != nullptr && leave(*options_.after);
    if (!is_collected && !is_left) {
      x_.add(*recurrence_);
      if (x_.is_checked()) true_residual();
    }
    result_.energy_error = energy_.relative_error();
    assert(result_.reason != StopReason::converged || energy_.is_on() ||
           result_.true_relative_residual <= options_.tolerance);
  }
  /// The result; also copies x to the caller's vector.
  CgResult result() {
    x_.finish();
    if (options_.after != nullptr) options_.after->result = result_;
    return result_;
  }

  /// Sends the device as many batches as the queue takes.
  void send_batches() {
    constexpr std::int64_t refresh_every = 64;  // iterations: 5% more products (Recurrence::refresh)
    while (!update_due_ && !queue_.is_full() && sent_ < options_.max_iterations &&
           !(options_.enough && options_.enough())) {
      const std::int64_t iterations = std::min(plan_.batch, options_.max_iterations - sent_);
      if (since_refresh_ >= refresh_every) {
        recurrence_->refresh(scalars_.last());
        since_refresh_ = 0;
      }
      since_refresh_ += iterations;
      queue_.send(iterations);
      sent_ += iterations;
    }
  }
  bool has_batches() const { return !queue_.is_empty(); }
  /// Oldest batch, and its iteration i.
  BatchQueue::Batch receive() { return queue_.receive(); }
  IterationNumbers read(const BatchQueue::Batch& batch, std::int64_t i) const {
    return scalars_.read(batch.numbers, i);
  }

  void count() { ++result_.iterations; }
  /// Adds an iteration to the history; false if the monitor wants to end.
  bool record(const IterationNumbers& numbers) {
    energy_.error().add(numbers.energy, numbers.rz);
    return record(numbers.rr);
  }
  /// True if the true residual may meet the tolerance. x includes the iterations sent since, whose residual may be
  /// above the tolerance again.
  bool is_at_tolerance() {
    return result_.relative_residual <= energy_.residual() &&
           energy_.is_met(result_.iterations, result_.relative_residual / last_update_,
                          [&](const auto& of_solution) { return measured_so_far(of_solution); }) &&
           newest_residual() <= energy_.residual();
  }
  /// True if p'Ap <= 0 may be due to rounding: in the sums of the pipelined recurrence, unless it has just begun; or if
  /// the residual consists only of rounding.
  bool may_have_lost_energy() {
    return (plan_.method == CgMethod::pipelined || energy_.exhausts(result_.relative_residual)) &&
           result_.iterations > restarted_at_;
  }

  /// Ends the loop; returns false.
  bool stop(StopReason reason) {
    result_.reason = reason;
    return false;
  }
  /// Compares the true residual with the tolerance, and restarts from it if it is larger. True if the loop continues.
  bool check() { return refine(true); }
  /// True if a reliable update is due, once no batch is in flight.
  bool update_is_due() const { return update_due_ && sent_ < options_.max_iterations; }
  /// Makes a reliable update; true if the loop continues. Two successive updates without gain indicate rounding.
  bool update() { return refine(false); }

 private:
  double seconds() const { return clock_.seconds() - (options_.aside != nullptr ? *options_.aside : 0.0); }
  bool record(double rr) {
    result_.relative_residual = std::sqrt(rr) / norm_b_;
    result_.history.push_back(
        {result_.iterations, result_.relative_residual, seconds(), energy_.awaited(result_.relative_residual)});
    update_due_ = update_due_ || result_.relative_residual <= reliable_update_ * last_update_;
    return !options_.monitor || options_.monitor(result_.history.back());
  }
  /// Relative residual of the recurrence after the last batch sent.
  double newest_residual() const {
    const BatchQueue::Batch newest = queue_.newest();
    return std::sqrt(scalars_.read(newest.numbers, newest.iterations - 1).rr) / norm_b_;
  }
  /// of_solution(x) for x including the recurrence's current correction.
  template <class Measure>
  double measured_so_far(const Measure& of_solution) {
    operators::synchronize(a_.device());
    return clock_.without([&] { return x_.measured_with(*recurrence_, of_solution); });
  }
  /// Starts from x = 0, whose residual is known, or from the given x.
  bool begin_from_x(double bb) {
    double rr = bb;
    if (options_.from_x) restart_from(true_residual());
    clock_.start();
    const bool has_start = approximate() || options_.from_x;
    if (has_start) rr = std::pow(last_update_ * norm_b_, 2);
    const bool goes_on = record(rr);
    update_due_ = false;
    const double enough = energy_.is_on() ? 0 : options_.tolerance;  // the error's energy is known only by iterating
    if (goes_on && !(has_start && last_update_ <= enough)) return true;
    if (!has_start) result_.true_relative_residual = last_update_;  // for x = 0
    return stop(goes_on ? StopReason::converged : StopReason::interrupted);
  }
  /// Adds M's approximation of the remaining correction to x, if M has one.
  bool approximate() {
    if (!options_.approximates || m_.applied == nullptr) return false;
    const double before = scalars_.last().rz.value();
    if (!m_.applied->approximate(recurrence_->r(), recurrence_->x())) return false;
    operators::Scalar energy(a_.device());
    vector_kernels_for(a_).dot(recurrence_->x(), recurrence_->r(), energy);
    energy_.error().add_start(energy.value(), before);
    return clock_.without([&] {
      x_.add(*recurrence_);
      restart_from(true_residual());
      result_.approximated = std::sqrt(scalars_.last().rz.value() / before);
      return true;
    });
  }
  /// True residual of the solution so far.
  TrueResidualVector true_residual() {
    TrueResidualVector residual = x_.residual(*recurrence_);
    result_.true_relative_residual = x_.norm_of(residual) / norm_b_;
    return residual;
  }
  /// Adds the correction to x, and continues from the true residual. False if that ends the loop.
  bool refine(bool may_converge) {
    operators::synchronize(a_.device());  // the time of a batch in flight belongs to the loop
    return clock_.without([&] {
      x_.add(*recurrence_);
      const TrueResidualVector residual = true_residual();
      const bool by_energy = may_converge && energy_.is_on();
      const auto accepts = [&](std::span<const double> x, std::span<const double> r) {
        return energy_.accepts(x, r, result_.true_relative_residual, result_.relative_residual);
      };
      if (may_converge &&
          (by_energy ? x_.measured(residual, accepts) : result_.true_relative_residual <= options_.tolerance))
        return stop(StopReason::converged);
      if (by_energy ? checks_.stagnate(energy_.excess()) : stagnates()) return stop(StopReason::stagnated);
      go_on_from(residual);
      return !(by_energy && energy_.accepts_restarted()) || stop(StopReason::converged);
    });
  }
  /// Restarts the recurrence from this residual.
  void restart_from(const TrueResidualVector& residual) {
    x_.to_recurrence(residual, recurrence_->r());
    queue_.drop();
    sent_ = restarted_at_ = result_.iterations;
    since_refresh_ = 0;
    scalars_.clear();
    recurrence_->start(scalars_.last());
    operators::synchronize(a_.device());
    energy_.error().restart(scalars_.last().rz.value());
    last_update_ = result_.true_relative_residual;
  }
  /// Continues from the true residual: with the current direction, if the recurrence's residual is still close to it,
  /// else by a restart.
  void go_on_from(const TrueResidualVector& residual) {
    constexpr double near = 2;
    const bool keeps =
        reliable_update_ > 0 && queue_.is_empty() && result_.true_relative_residual <= near * result_.relative_residual;
    last_update_ = result_.true_relative_residual;
    update_due_ = false;
    if (!keeps) return restart_from(residual);
    x_.to_recurrence(residual, recurrence_->w());
    scalars_.clear();
    dynamic_cast<ClassicCg<T>&>(*recurrence_).replace_residual(recurrence_->w(), scalars_.last());
    operators::synchronize(a_.device());
    energy_.error().go_on(scalars_.last().rz.value());
  }
  /// True if there is no gain any more. Reliable updates retain a direction with all its accumulated rounding, so that
  /// restarts without it may still gain.
  bool stagnates() {
    if (!restarts_.stagnate(result_.true_relative_residual)) return false;
    if (reliable_update_ == 0) return true;
    reliable_update_ = 0;
    restarts_ = Restarts();
    return false;
  }
  /// Resumes the state of an earlier run.
  void resume(const CgCheckpoint<T>& before) {
    result_.iterations = before.result.iterations;
    result_.history = before.result.history;
    if (hands_over() && before.p.size() == a_.size()) {
      operators::copy(operators::to_ordering(a_, before.r), recurrence_->r());
      scalars_.clear();
      recurrence_->start(scalars_.last());
      operators::copy(operators::to_ordering(a_, before.p), recurrence_->p());
      operators::copy(operators::to_ordering(a_, before.x), recurrence_->x());
      operators::copy_bytes(before.scalars.data(), operators::Device::host, scalars_.last().rz.data(), a_.device(),
                            scalars_.bytes_of_iteration());
      energy_.error().restart(before.scalars.front());
      sent_ = result_.iterations;
      result_.relative_residual = before.result.relative_residual;
      operators::synchronize(a_.device());
    } else {
      if (before.x.size() == a_.size()) x_.add_natural(before.x);
      restart_from(true_residual());
      result_.relative_residual = result_.true_relative_residual;
    }
    clock_.start(before.result.seconds);
  }
  /// Stores the recurrence for another run, if it can be resumed.
  bool leave(CgCheckpoint<T>& after) {
    if (result_.reason != StopReason::max_iterations || !hands_over()) return false;
    after.r = operators::from_ordering(a_, recurrence_->r());
    after.p = operators::from_ordering(a_, recurrence_->p());
    after.x = operators::from_ordering(a_, recurrence_->x());
    after.scalars.resize(operators::CgScalars::count);
    operators::copy_bytes(scalars_.of(queue_.last_iterations()).rz.data(), a_.device(), after.scalars.data(),
                          operators::Device::host, scalars_.bytes_of_iteration());
    return true;
  }
  /// True if another run can resume the recurrence at the end of this one.
  bool hands_over() const {
    return plan_.method == CgMethod::classic && plan_.loop != CgLoop::persistent && m_.applied == nullptr;
  }

  const operators::Operator<T>& a_;
  const operators::Vector<T>& b_;
  const CgOptions<T>& options_;
  CgPlan<T> plan_;
  Inverse<T> m_;
  std::unique_ptr<Recurrence<T>> recurrence_;
  BatchScalars<operators::CgScalars> scalars_;
  BatchQueue queue_;
  RefinedSolution<T> x_;
  EnergyCriterion energy_;
  LoopClock clock_;
  Restarts restarts_, checks_;  ///< by residuals; by the energy check
  double norm_b_ = 0;
  std::int64_t sent_ = 0;                              ///< iterations sent
  std::int64_t restarted_at_ = 0, since_refresh_ = 0;  ///< iterations
  double last_update_ = 1;  ///< relative residual at the last reliable update, or at the start
  bool update_due_ = false;
  double reliable_update_;  ///< 0 once reliable updates have no gain
  CgResult result_;
};

}  // namespace femcg::solver
