#include "solver/cg.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>

#include "operators/device_work.hpp"

namespace femcg::solver {

using operators::Operator;
using operators::Scalar;
using operators::Vector;

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

/// Places of one iteration's numbers among the scalars of a batch.
struct BatchScalars {
  BatchScalars(std::int64_t iterations, operators::Device device) : numbers(3 * (iterations + 1), device) {
    operators::fill(numbers, 0.0);
    for (std::int64_t i = 0; i <= iterations; ++i) {
      rz.emplace_back(numbers, 3 * i);
      rr.emplace_back(numbers, 3 * i + 1);
      energy.emplace_back(numbers, 3 * i + 2);
    }
  }
  Vector<double> numbers;
  /// r'M^-1 r and r'r after that many iterations of the batch, p'Ap of the next.
  std::vector<Scalar> rz, rr, energy;
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
        kernels_(a.kernels()),
        on_host_(a.device() == operators::Device::host),
        batch_(options.check_every > 0 ? options.check_every
               : on_host_              ? 1
                                       : 16),
        x_(a.size(), a.device()),
        r_(a.size(), a.device()),
        p_(a.size(), a.device()),
        q_(a.size(), a.device()),
        scalars_(batch_, a.device()) {
    for (int i = 0; i < 2; ++i) mailboxes_.emplace_back(scalars_.numbers.size(), a.device());
  }

  CgResult run();

 private:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  void restart();
  void iterate(std::int64_t iterations);
  void send_batch();
  bool record(double rr);
  bool examine();
  void collect();
  std::vector<double> true_residual();
  bool finished();

  const Operator<T>& a_;
  const Vector<T>& b_;
  std::vector<double>& total_;  ///< x so far, without the correction x_ that the loop is at
  const CgOptions<T>& options_;
  const operators::VectorKernels<T>& kernels_;
  bool on_host_;
  std::int64_t batch_;
  Vector<T> x_, r_, p_, q_;
  BatchScalars scalars_;
  std::vector<operators::Mailbox> mailboxes_;
  std::optional<operators::RecordedWork> recorded_;
  std::deque<std::int64_t> in_flight_;  ///< iterations of the batches that were sent and not yet looked at
  std::int64_t sent_ = 0;               ///< batches
  std::int64_t sent_iterations_ = 0;
  double norm_b_ = 0;
  double last_true_ = std::numeric_limits<double>::infinity();
  bool last_halved_ = true;
  std::chrono::steady_clock::time_point begin_;
  CgResult result_;
};

template <std::floating_point T>
bool Loop<T>::record(double rr) {
  result_.relative_residual = std::sqrt(rr) / norm_b_;
  result_.history.push_back({result_.iterations, result_.relative_residual, seconds()});
  return !options_.monitor || options_.monitor(result_.history.back());
}

/// x = 0 and p = M^-1 r for the r at hand.
template <std::floating_point T>
void Loop<T>::restart() {
  operators::clear(x_);
  kernels_.start(r_, options_.inverse_diagonal, p_, scalars_.rz[0], scalars_.rr[0]);
}

/// Some iterations, from the first place of the scalars on; r'M^-1 r of the last goes to the first place.
template <std::floating_point T>
void Loop<T>::iterate(std::int64_t iterations) {
  for (std::int64_t i = 0; i < iterations; ++i) {
    a_.apply(p_, q_, &scalars_.energy[i]);
    kernels_.update(scalars_.rz[i], scalars_.energy[i], p_, q_, options_.inverse_diagonal, x_, r_, scalars_.rz[i + 1],
                    scalars_.rr[i + 1]);
    kernels_.direction(scalars_.rz[i + 1], scalars_.rz[i], r_, options_.inverse_diagonal, p_);
  }
  const operators::Device device = a_.device();
  operators::copy_bytes(scalars_.rz[iterations].data(), device, scalars_.rz[0].data(), device, sizeof(double));
}

template <std::floating_point T>
void Loop<T>::send_batch() {
  const std::int64_t iterations = std::min(batch_, options_.max_iterations - sent_iterations_);
  if (iterations == 0) return;
  if (iterations < batch_ || on_host_) {
    iterate(iterations);
  } else {
    recorded_->run();
  }
  mailboxes_[sent_++ % 2].post(scalars_.numbers);
  in_flight_.push_back(iterations);
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
    const double energy = numbers[3 * i + 2], new_rz = numbers[3 * i + 3], rr = numbers[3 * i + 4];
    if (!std::isfinite(energy)) {
      result_.reason = StopReason::not_finite;
      return false;
    }
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
    if (result_.relative_residual <= options_.tolerance) return !finished();
  }
  return true;
}

/// Adds the correction that the loop is at to the total. The clock of the loop stands still meanwhile, and while the
/// residual is computed afresh: that is a check of the answer, not part of the method.
template <std::floating_point T>
void Loop<T>::collect() {
  const Vector<T> x = operators::copied(x_, operators::Device::host);
  for (std::int64_t i = 0; i < x.size(); ++i) total_[i] += static_cast<double>(x[i]);
}

template <std::floating_point T>
std::vector<double> Loop<T>::true_residual() {
  if (options_.true_residual) return options_.true_residual(total_);
  Vector<T> x(a_.size());
  std::copy(total_.begin(), total_.end(), x.data());
  operators::copy(x, p_);
  a_.apply(p_, q_);
  const Vector<T> b = operators::copied(b_, operators::Device::host),
                  q = operators::copied(q_, operators::Device::host);
  std::vector<double> r(total_.size());
  for (std::int64_t i = 0; i < b.size(); ++i) r[i] = static_cast<double>(b[i]) - static_cast<double>(q[i]);
  return r;
}

/// Whether the loop is over: checks the tolerance against the residual computed afresh, and restarts from it.
template <std::floating_point T>
bool Loop<T>::finished() {
  const auto before = std::chrono::steady_clock::now();
  collect();
  const std::vector<double> residual = true_residual();
  Vector<T> r(a_.size());
  std::copy(residual.begin(), residual.end(), r.data());
  operators::copy(r, r_);
  in_flight_.clear();
  sent_iterations_ = result_.iterations;
  restart();
  double rr = 0;
  for (const double entry : residual) rr += entry * entry;
  result_.true_relative_residual = std::sqrt(rr) / norm_b_;
  operators::synchronize(a_.device());
  begin_ += std::chrono::steady_clock::now() - before;
  if (result_.true_relative_residual <= options_.tolerance) {
    result_.reason = StopReason::converged;
    return true;
  }
  // One restart may come at a bad moment, in single precision above all; two in a row are rounding.
  const bool halved = result_.true_relative_residual < 0.5 * last_true_;
  if (!halved && !last_halved_) {
    result_.reason = StopReason::stagnated;
    return true;
  }
  last_halved_ = halved;
  last_true_ = std::min(last_true_, result_.true_relative_residual);
  return false;
}

template <std::floating_point T>
CgResult Loop<T>::run() {
  if (!on_host_) {
    // Kernels are loaded at their first launch, which must not be a recorded one.
    for (Vector<T>* vector : {&x_, &r_, &p_, &q_}) operators::clear(*vector);
    iterate(1);
    recorded_.emplace(a_.device(), [this] { iterate(batch_); });
  }
  total_.assign(static_cast<std::size_t>(a_.size()), 0.0);
  operators::copy(b_, r_);
  restart();
  const double bb = scalars_.rr[0].value();
  begin_ = std::chrono::steady_clock::now();
  norm_b_ = std::sqrt(bb);
  if (!std::isfinite(norm_b_)) {
    result_.reason = StopReason::not_finite;
    return result_;
  }
  if (norm_b_ == 0) {
    result_.reason = StopReason::converged;
    return result_;
  }
  if (!record(bb)) {
    result_.reason = StopReason::interrupted;
    return result_;
  }
  result_.reason = StopReason::max_iterations;
  for (bool go_on = true; go_on;) {
    // A GPU has the next batch before the host looks at the one before.
    while (in_flight_.size() < (on_host_ ? 1 : 2) && sent_iterations_ < options_.max_iterations) send_batch();
    if (in_flight_.empty()) break;
    go_on = examine();
  }
  operators::synchronize(a_.device());
  result_.seconds = seconds();
  const bool collected = result_.reason == StopReason::converged || result_.reason == StopReason::stagnated;
  if (!collected) collect();
  return result_;
}

}  // namespace

template <std::floating_point T>
CgResult conjugate_gradients(const Operator<T>& a, const Vector<T>& b, std::vector<double>& x,
                             const CgOptions<T>& options) {
  return Loop<T>(a, b, x, options).run();
}

template CgResult conjugate_gradients(const Operator<double>&, const Vector<double>&, std::vector<double>&,
                                      const CgOptions<double>&);
template CgResult conjugate_gradients(const Operator<float>&, const Vector<float>&, std::vector<double>&,
                                      const CgOptions<float>&);

}  // namespace femcg::solver
