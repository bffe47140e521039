#include "solver/krylov/cg.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <deque>
#include <future>
#include <optional>
#include <type_traits>
#include <utility>

#include "mesh/base/pages.hpp"
#include "operators/backend/permutation.hpp"
#include "operators/backend/recorded_work.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/ordering.hpp"
#include "solver/krylov/recurrence.hpp"
#include "solver/krylov/restarts.hpp"
#include "solver/messages/error.hpp"

namespace femcg::solver {

using operators::CgScalars;
using operators::Device;
using operators::Operator;
using operators::Vector;

std::string_view name(CgMethod method) {
  switch (method) {
    case CgMethod::automatic:
      return "auto";
    case CgMethod::classic:
      return "classic";
    case CgMethod::single_reduction:
      return "single-reduction";
    case CgMethod::pipelined:
      return "pipelined";
    case CgMethod::batched:
      return "batched";
    case CgMethod::block:
      return "block";
  }
  return "";
}
std::string_view name(CgLoop loop) {
  switch (loop) {
    case CgLoop::automatic:
      return "auto";
    case CgLoop::launched:
      return "launched";
    case CgLoop::resident:
      return "resident";
    case CgLoop::merged:
      return "merged";
  }
  return "";
}

std::string_view name(StopReason reason) {
  switch (reason) {
    case StopReason::converged:
      return "converged";
    case StopReason::max_iterations:
      return "max_iterations";
    case StopReason::indefinite:
      return "indefinite";
    case StopReason::not_finite:
      return "not_finite";
    case StopReason::stagnated:
      return "stagnated";
    case StopReason::interrupted:
      return "interrupted";
  }
  return "";
}

namespace {

constexpr std::int64_t refresh_every = 64;  // iterations: 5% more products (Recurrence::refresh)
constexpr std::int64_t scalar_bytes = CgScalars::count * std::int64_t{sizeof(double)};

/// How a loop goes: what was asked for, or what fits the operator.
template <std::floating_point T>
struct Plan {
  Plan(const Operator<T>& a, const CgOptions<T>& options) : method(options.method), loop(CgLoop::launched) {
    const bool fused = options.preconditioner == nullptr || options.preconditioner->is_fused();
    if (options.reliable_update > 0 && (has_one_sum(options.method) || options.loop == CgLoop::resident))
      throw InputError(
          "reliable updates keep the direction of the classic method in launched passes: use solver.cg: classic and "
          "solver.loop: launched, or solver.precision: single");
    if (!fused && (has_one_sum(options.method) || options.loop == CgLoop::resident))
      throw InputError(
          "methods with one sum and the loop inside one kernel need a diagonal preconditioner: use solver.cg: classic, "
          "or solver.preconditioner: jacobi");
    const bool may_reside =
        fused && options.reliable_update == 0 && solver::may_reside(options.loop) && takes_one_kernel(options.method);
    if (may_reside) resident = operators::persistent_cg(a, persistent_for(options.loop));
    if (options.loop == CgLoop::resident && resident == nullptr)
      throw InputError(
          !takes_one_kernel(options.method)
              ? "the loop inside one kernel is of the single-reduction method: use solver.cg: single-reduction"
              : "this operator has no loop inside one kernel on this device for a system of this size: use "
                "solver.loop: launched");
    if (resident != nullptr) loop = CgLoop::resident;
    const bool may_merge = fused && !has_one_sum(method) && !takes_several(method) &&
                           (options.loop == CgLoop::merged ||
                            (options.loop == CgLoop::automatic && operators::merging_pays(a.size(), sizeof(T))));
    if (may_merge) merged = dynamic_cast<const operators::WithMergedCg<T>*>(&a);
    if (options.loop == CgLoop::merged && merged == nullptr)
      throw InputError(!fused || has_one_sum(method)
                           ? "passes inside the product are of the classic method with a diagonal preconditioner: use "
                             "solver.cg: classic and solver.preconditioner: jacobi, or solver.loop: launched"
                           : "this operator makes no passes of CG inside its product on this device: use solver.loop: "
                             "launched");
    if (merged != nullptr) loop = CgLoop::merged;
    if (method == CgMethod::automatic) method = resident != nullptr ? CgMethod::single_reduction : CgMethod::classic;
    batch = options.check_every > 0      ? options.check_every
            : a.device() == Device::host ? (method == CgMethod::pipelined ? 8 : 1)
            : resident != nullptr        ? 64
                                         : 16;
  }
  CgMethod method;
  CgLoop loop;
  std::unique_ptr<operators::PersistentCg<T>> resident;
  const operators::WithMergedCg<T>* merged = nullptr;
  std::int64_t batch;
};

/// A residual recomputed, in the natural order of the unknowns: on the host, or else on the GPU.
struct Residual {
  std::vector<double> on_host;
  const Vector<double>* on_gpu = nullptr;
};

/// The state of one loop: batches of iterations, after each of which the host looks at what happened.
template <std::floating_point T>
class Loop {
 public:
  Loop(const Operator<T>& a, const Vector<T>& b, std::vector<double>& x, const CgOptions<T>& options)
      : a_(a),
        b_(b),
        total_(x),
        options_(options),
        on_host_(a.device() == Device::host),
        plan_(a, options),
        recurrence_(a, options.preconditioner, plan_.method, plan_.batch, plan_.merged),
        scalars_(plan_.batch, a.device()) {
    for (int i = 0; i < 2; ++i) mailboxes_.emplace_back(scalars_.numbers().size(), a.device());
    result_.method = plan_.method;
    result_.loop = plan_.loop;
    result_.deferred = recurrence_.deferred();
  }

  CgResult run() {
    CgResult result = run_to_end();
    if (on_gpu()) {
      if (room_.valid()) total_ = room_.get();
      operators::copy_bytes(total_on_gpu_.data(), Device::cuda, total_.data(), Device::host, total_on_gpu_.bytes());
    }
    return result;
  }

 private:
  CgResult run_to_end();
  /// Whether the total is there.
  bool on_gpu() const { return static_cast<bool>(options_.residual_on_gpu); }
  double seconds() const {
    const double all = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    return options_.aside != nullptr ? all - *options_.aside : all;
  }
  void iterate(std::int64_t iterations) { recurrence_.iterate(iterations, scalars_, plan_.resident.get()); }
  void send_batch();
  bool record(double rr);
  double newest_residual() const;
  bool examine();
  void begin_total();
  void collect();
  void add_to_total(const Vector<T>& correction);  // on the host
  Residual true_residual();
  double norm_of(const Residual& residual) const;
  Vector<T> on_host(const Vector<T>& vector) const;
  void to_recurrence(const std::vector<double>& natural, Vector<T>& vector) const;
  void to_recurrence(const Residual& residual, Vector<T>& vector) const;
  Residual judge_total();
  void restart_from(const Residual& residual);
  void go_on_from(const Residual& residual);
  void resume(const CgState<T>& before);
  bool leave(CgState<T>& after);
  /// Whether another loop can take up where this one ends.
  bool hands_over() const {
    return plan_.method == CgMethod::classic && plan_.loop != CgLoop::resident &&
           (options_.preconditioner == nullptr || options_.preconditioner->is_fused());
  }
  bool finished();
  bool update();
  bool stagnates();

  const Operator<T>& a_;
  const Vector<T>& b_;
  std::vector<double>& total_;  ///< x so far, without the correction that the recurrence is at; unless it is on the GPU
  Vector<double> total_on_gpu_;
  std::future<std::vector<double>> room_;  ///< for it on the host in the end, cleared while the GPU works
  const CgOptions<T>& options_;
  bool on_host_;
  Plan<T> plan_;
  Recurrence<T> recurrence_;
  Vector<double> residual_on_gpu_, scratch_;  ///< where the recurrence has no such vectors to spare
  BatchScalars scalars_;
  std::vector<operators::Mailbox> mailboxes_;
  std::optional<operators::RecordedWork> recorded_;
  std::deque<std::int64_t> in_flight_;  ///< iterations of the batches that were sent and not yet looked at
  std::int64_t sent_ = 0;               ///< batches
  std::int64_t sent_iterations_ = 0;
  std::int64_t last_batch_ = plan_.batch;  ///< iterations of it
  std::int64_t begun_at_ = 0;              ///< the iteration with which the recurrence began, or began anew
  std::int64_t since_refresh_ = 0;         ///< iterations of the pipelined one
  double last_update_ = 1;                 ///< the relative residual at the last reliable update, or at the start
  bool update_due_ = false;                ///< once what is in flight has been looked at
  double reliable_update_ = options_.reliable_update;  ///< 0 once they gain nothing
  double norm_b_ = 0;
  Restarts restarts_;
  std::chrono::steady_clock::time_point begin_;
  CgResult result_;
};

template <std::floating_point T>
bool Loop<T>::record(double rr) {
  result_.relative_residual = std::sqrt(rr) / norm_b_;
  result_.history.push_back({result_.iterations, result_.relative_residual, seconds()});
  return !options_.monitor || options_.monitor(result_.history.back());
}

/// The relative residual by the recurrence of the x that it is at, behind the last batch that was sent.
template <std::floating_point T>
double Loop<T>::newest_residual() const {
  const std::span<const double> numbers = mailboxes_[(sent_ - 1) % 2].receive();
  return std::sqrt(numbers[static_cast<std::size_t>(CgScalars::count * (last_batch_ + 1) + 1)]) / norm_b_;
}

template <std::floating_point T>
void Loop<T>::send_batch() {
  const std::int64_t iterations = std::min(plan_.batch, options_.max_iterations - sent_iterations_);
  if (iterations == 0) return;
  if (plan_.method == CgMethod::pipelined && since_refresh_ >= refresh_every) {
    recurrence_.refresh(scalars_);
    since_refresh_ = 0;
  }
  since_refresh_ += iterations;
  if (recorded_ && iterations == plan_.batch)
    recorded_->run();
  else
    iterate(iterations);
  mailboxes_[sent_++ % 2].post(scalars_.numbers());
  in_flight_.push_back(iterations);
  last_batch_ = iterations;
  sent_iterations_ += iterations;
}

/// Looks at one iteration after the other of the oldest batch in flight; false ends the loop, or the restart.
template <std::floating_point T>
bool Loop<T>::examine() {
  const std::int64_t iterations = in_flight_.front();
  const std::span<const double> numbers =
      mailboxes_[(sent_ - static_cast<std::int64_t>(in_flight_.size())) % 2].receive();
  in_flight_.pop_front();
  for (std::int64_t i = 0; i < iterations; ++i) {
    // The scalars of the iteration before the batch come first.
    const double* now = numbers.data() + CgScalars::count * (i + 1);
    const double energy = now[2], new_rz = now[CgScalars::count], rr = now[CgScalars::count + 1];
    if (!std::isfinite(energy)) {
      result_.reason = StopReason::not_finite;
      return false;
    }
    // What the pipelined recurrence adds up may have lost it; not where it has just begun.
    if (energy <= 0 && plan_.method == CgMethod::pipelined && result_.iterations > begun_at_) return !finished();
    if (energy <= 0) {
      result_.reason = StopReason::indefinite;
      return false;
    }
    ++result_.iterations;
    if (!std::isfinite(rr) || !std::isfinite(new_rz) || new_rz < 0) {
      result_.reason = new_rz < 0 ? StopReason::indefinite : StopReason::not_finite;
      return false;
    }
    if (!record(rr)) {
      result_.reason = StopReason::interrupted;
      return false;
    }
    // x has gone on with what was sent since, and the residual may be above the tolerance again.
    if (result_.relative_residual <= options_.tolerance && newest_residual() <= options_.tolerance) return !finished();
    update_due_ = update_due_ || result_.relative_residual <= reliable_update_ * last_update_;
  }
  return true;
}

/// A vector of the recurrence in the natural order of the unknowns.
template <std::floating_point T>
Vector<T> Loop<T>::on_host(const Vector<T>& vector) const {
  if (a_.ordering().size() == 0) return operators::copied(vector, operators::Device::host);
  return operators::copied(operators::from_ordering(a_, vector), operators::Device::host);
}

/// The other way, rounded.
template <std::floating_point T>
void Loop<T>::to_recurrence(const std::vector<double>& natural, Vector<T>& vector) const {
  Vector<T> rounded(a_.size());
  operators::for_each_row(rounded.size(), [&](std::int64_t i) { rounded[i] = static_cast<T>(natural[i]); });
  if (a_.ordering().size() == 0)
    operators::copy(rounded, vector);
  else
    operators::copy(operators::to_ordering(a_, rounded), vector);
}

/// A residual, rounded.
template <std::floating_point T>
void Loop<T>::to_recurrence(const Residual& residual, Vector<T>& vector) const {
  if (residual.on_gpu == nullptr) return to_recurrence(residual.on_host, vector);
  operators::cuda_gather_rounded(*residual.on_gpu, a_.ordering(), vector);
}

/// The total is 0, or what was given.
template <std::floating_point T>
void Loop<T>::begin_total() {
  const bool given = options_.before != nullptr || options_.from_x;
  if (!on_gpu()) {
    if (!given) total_ = mesh::filled<double>(static_cast<std::size_t>(a_.size()));
    return;
  }
  total_on_gpu_ = Vector<double>(a_.size(), Device::cuda);
  if (given)
    operators::copy_bytes(total_.data(), Device::host, total_on_gpu_.data(), Device::cuda, total_on_gpu_.bytes());
  else
    clear(total_on_gpu_);
  if (!given)
    room_ = std::async(std::launch::async, [size = a_.size()] { return mesh::filled<double>(std::size_t(size)); });
}

/// Adds the correction that the loop is at to the total. The clock of the loop stands still meanwhile, and while the
/// residual is recomputed: that is a check of the answer, not part of the method.
template <std::floating_point T>
void Loop<T>::collect() {
  if (on_gpu()) return operators::cuda_scatter_added(recurrence_.x(), a_.ordering(), total_on_gpu_);
  add_to_total(on_host(recurrence_.x()));
}

template <std::floating_point T>
void Loop<T>::add_to_total(const Vector<T>& correction) {
  operators::for_each_row(correction.size(), [&](std::int64_t i) { total_[i] += static_cast<double>(correction[i]); });
}

template <std::floating_point T>
Residual Loop<T>::true_residual() {
  if (on_gpu()) {
    // The direction is kept by reliable updates only; else there are two vectors that restarts fill anew.
    if constexpr (std::is_same_v<T, double>)
      if (options_.reliable_update == 0) {
        options_.residual_on_gpu(total_on_gpu_, recurrence_.w(), recurrence_.p());
        return {{}, &recurrence_.w()};
      }
    if (residual_on_gpu_.size() == 0) {
      residual_on_gpu_ = Vector<double>(a_.size(), Device::cuda);
      scratch_ = Vector<double>(a_.size(), Device::cuda);
    }
    options_.residual_on_gpu(total_on_gpu_, residual_on_gpu_, scratch_);
    return {{}, &residual_on_gpu_};
  }
  if (options_.true_residual) return {options_.true_residual(total_)};
  to_recurrence(total_, recurrence_.p());
  a_.apply(recurrence_.p(), recurrence_.w());
  const Vector<T> b = operators::copied(b_, operators::Device::host), q = on_host(recurrence_.w());
  std::vector<double> r = mesh::filled<double>(total_.size());
  operators::for_each_row(b.size(),
                          [&](std::int64_t i) { r[i] = static_cast<double>(b[i]) - static_cast<double>(q[i]); });
  return {std::move(r)};
}

template <std::floating_point T>
double Loop<T>::norm_of(const Residual& residual) const {
  if (residual.on_gpu == nullptr) return norm(residual.on_host, recurrence_.share());
  operators::Scalar square(Device::cuda);
  operators::vector_operations<double>(Device::cuda).dot(*residual.on_gpu, *residual.on_gpu, square);
  return std::sqrt(square.value());
}

/// Goes on from the total, and from the numbers of the loop that came to it.
template <std::floating_point T>
void Loop<T>::resume(const CgState<T>& before) {
  result_.iterations = before.result.iterations;
  result_.history = before.result.history;
  if (hands_over() && before.p.size() == a_.size()) {
    operators::copy(operators::to_ordering(a_, before.r), recurrence_.r());
    recurrence_.restart(scalars_);
    operators::copy(operators::to_ordering(a_, before.p), recurrence_.p());
    operators::copy(operators::to_ordering(a_, before.x), recurrence_.x());
    operators::copy_bytes(before.scalars.data(), Device::host, scalars_.last().rz.data(), a_.device(), scalar_bytes);
    sent_iterations_ = result_.iterations;
    result_.relative_residual = before.result.relative_residual;
    operators::synchronize(a_.device());
  } else {
    if (before.x.size() == a_.size()) {
      if (on_gpu())
        operators::cuda_scatter_added(before.x, {}, total_on_gpu_);
      else
        add_to_total(operators::copied(before.x, Device::host));
    }
    restart_from(judge_total());
    result_.relative_residual = result_.true_relative_residual;
  }
  begin_ = std::chrono::steady_clock::now() - std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                  std::chrono::duration<double>(before.result.seconds));
}

template <std::floating_point T>
bool Loop<T>::leave(CgState<T>& after) {
  if (result_.reason != StopReason::max_iterations || !hands_over()) return false;
  after.r = operators::from_ordering(a_, recurrence_.r());
  after.p = operators::from_ordering(a_, recurrence_.p());
  after.x = operators::from_ordering(a_, recurrence_.x());
  after.scalars.resize(CgScalars::count);
  operators::copy_bytes(scalars_.of(last_batch_).rz.data(), a_.device(), after.scalars.data(), Device::host,
                        scalar_bytes);
  return true;
}

/// The residual of the total, recomputed.
template <std::floating_point T>
Residual Loop<T>::judge_total() {
  Residual residual = true_residual();
  result_.true_relative_residual = norm_of(residual) / norm_b_;
  return residual;
}

/// The recurrence begins anew from this residual.
template <std::floating_point T>
void Loop<T>::restart_from(const Residual& residual) {
  to_recurrence(residual, recurrence_.r());
  in_flight_.clear();
  sent_iterations_ = begun_at_ = result_.iterations;
  since_refresh_ = 0;
  recurrence_.restart(scalars_);
  operators::synchronize(a_.device());
}

/// Goes on from the residual recomputed: with the direction at hand, where the recurrence's own residual is still near
/// it, else anew.
template <std::floating_point T>
void Loop<T>::go_on_from(const Residual& residual) {
  constexpr double near = 2;
  const bool keeps =
      reliable_update_ > 0 && in_flight_.empty() && result_.true_relative_residual <= near * result_.relative_residual;
  last_update_ = result_.true_relative_residual;
  update_due_ = false;
  if (!keeps) return restart_from(residual);
  to_recurrence(residual, recurrence_.w());
  recurrence_.replace_residual(recurrence_.w(), scalars_);
  operators::synchronize(a_.device());
}

/// Whether nothing is gained any more, once the residual has been recomputed. Where reliable updates kept the
/// direction, which carries the rounding of all before it, restarts without it may still gain.
template <std::floating_point T>
bool Loop<T>::stagnates() {
  if (!restarts_.stagnate(result_.true_relative_residual)) return false;
  if (reliable_update_ == 0) return true;
  reliable_update_ = 0;
  restarts_ = Restarts();
  return false;
}

/// A reliable update. Whether the loop goes on: two in a row that gain nothing are rounding.
template <std::floating_point T>
bool Loop<T>::update() {
  operators::synchronize(a_.device());
  const auto before = std::chrono::steady_clock::now();
  collect();
  const Residual residual = judge_total();
  const bool vain = stagnates();
  if (vain)
    result_.reason = StopReason::stagnated;
  else
    go_on_from(residual);
  begin_ += std::chrono::steady_clock::now() - before;
  return !vain;
}

/// Whether the loop is over: checks the tolerance against the residual recomputed, and restarts from it.
template <std::floating_point T>
bool Loop<T>::finished() {
  operators::synchronize(a_.device());  // the batch in flight is the loop's
  const auto before = std::chrono::steady_clock::now();
  collect();
  const Residual residual = judge_total();
  bool over = true;
  if (result_.true_relative_residual <= options_.tolerance)
    result_.reason = StopReason::converged;
  else if (stagnates())
    result_.reason = StopReason::stagnated;
  else
    over = false;
  if (!over) go_on_from(residual);
  begin_ += std::chrono::steady_clock::now() - before;
  return over;
}

template <std::floating_point T>
CgResult Loop<T>::run_to_end() {
  // Kernels are loaded at their first launch, which must be neither a recorded nor a timed one.
  if (!on_host_) iterate(std::min<std::int64_t>(3, plan_.batch));  // a pair and one more
  if (!on_host_ && plan_.loop == CgLoop::launched && options_.recorded)
    recorded_.emplace(a_.device(), [this] { iterate(plan_.batch); });
  operators::copy(operators::to_ordering(a_, b_), recurrence_.r());
  begin_total();  // once the copies in between are gone
  recurrence_.restart(scalars_);
  const double bb = scalars_.last().rr.value();
  begin_ = std::chrono::steady_clock::now();
  norm_b_ = std::sqrt(bb);
  if (!std::isfinite(norm_b_)) {
    result_.reason = StopReason::not_finite;
    return result_;
  }
  if (norm_b_ == 0) {
    if (on_gpu())
      clear(total_on_gpu_);
    else
      total_ = mesh::filled<double>(static_cast<std::size_t>(a_.size()));
    const bool zero =
        std::ranges::all_of(operators::copied(b_, Device::host).span(), [](T entry) { return entry == 0; });
    result_.reason = zero ? StopReason::converged : StopReason::not_finite;
    return result_;
  }
  if (options_.before != nullptr) {
    resume(*options_.before);
  } else {
    double rr = bb;
    if (options_.from_x) {
      restart_from(judge_total());
      last_update_ = result_.true_relative_residual;
      rr = std::pow(last_update_ * norm_b_, 2);
      begin_ = std::chrono::steady_clock::now();
    }
    const bool goes_on = record(rr);
    if (!goes_on || (options_.from_x && last_update_ <= options_.tolerance)) {
      result_.reason = goes_on ? StopReason::converged : StopReason::interrupted;
      if (!options_.from_x) result_.true_relative_residual = 1;  // of x = 0
      return result_;
    }
  }
  result_.reason = StopReason::max_iterations;
  for (bool go_on = true; go_on;) {
    // A GPU has the next batch before the host looks at the one before.
    while (!update_due_ && in_flight_.size() < (on_host_ ? 1 : 2) && sent_iterations_ < options_.max_iterations &&
           !(options_.enough && options_.enough()))
      send_batch();
    if (!in_flight_.empty())
      go_on = examine();
    else if (update_due_ && sent_iterations_ < options_.max_iterations)
      go_on = update();
    else
      break;
  }
  operators::synchronize(a_.device());
  result_.seconds = seconds();
  const bool collected = result_.reason == StopReason::converged || result_.reason == StopReason::stagnated;
  const bool handed_over = options_.after != nullptr && leave(*options_.after);
  if (!collected && !handed_over) {
    collect();
    if (options_.true_residual || on_gpu()) result_.true_relative_residual = norm_of(true_residual()) / norm_b_;
  }
  assert(result_.reason != StopReason::converged || result_.true_relative_residual <= options_.tolerance);
  return result_;
}

}  // namespace

template <std::floating_point T>
CgResult conjugate_gradients(const Operator<T>& a, const Vector<T>& b, std::vector<double>& x,
                             const CgOptions<T>& options) {
  CgResult result = Loop<T>(a, b, x, options).run();
  if (options.after != nullptr) options.after->result = result;
  return result;
}

template CgResult conjugate_gradients(const Operator<double>&, const Vector<double>&, std::vector<double>&,
                                      const CgOptions<double>&);
template CgResult conjugate_gradients(const Operator<float>&, const Vector<float>&, std::vector<double>&,
                                      const CgOptions<float>&);

}  // namespace femcg::solver
