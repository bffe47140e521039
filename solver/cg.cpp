#include "solver/cg.hpp"

#include <chrono>
#include <cmath>
#include <limits>

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

/// The state of one loop. Scalars are kept in pairs, so that the one of this and of the next iteration swap roles.
template <std::floating_point T>
class Loop {
 public:
  Loop(const Operator<T>& a, const Vector<T>& b, Vector<T>& x, const CgOptions<T>& options)
      : a_(a),
        b_(b),
        x_(x),
        options_(options),
        kernels_(a.kernels()),
        r_(a.size(), a.device()),
        p_(a.size(), a.device()),
        q_(a.size(), a.device()) {}

  CgResult run();

 private:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  bool record(std::int64_t number);
  void restart();
  bool iterate();
  void compute_true_residual();
  /// Whether the loop is over: checks the tolerance against the residual computed afresh.
  bool finished();

  const Operator<T>& a_;
  const Vector<T>& b_;
  Vector<T>& x_;
  const CgOptions<T>& options_;
  const operators::VectorKernels<T>& kernels_;
  Vector<T> r_, p_, q_;
  Scalar rz_[2], rr_, energy_;
  int current_ = 0;
  double norm_b_ = 0;
  double last_true_ = std::numeric_limits<double>::infinity();
  std::chrono::steady_clock::time_point begin_;
  CgResult result_;
};

template <std::floating_point T>
bool Loop<T>::record(std::int64_t number) {
  result_.iterations = number;
  result_.relative_residual = std::sqrt(rr_.value()) / norm_b_;
  result_.history.push_back({number, result_.relative_residual, seconds()});
  return !options_.monitor || options_.monitor(result_.history.back());
}

/// p = M^-1 r for the r at hand.
template <std::floating_point T>
void Loop<T>::restart() {
  kernels_.start(r_, options_.inverse_diagonal, p_, rz_[current_], rr_);
}

/// The clock of the loop stands still meanwhile: this is a check of the answer, not part of the method.
template <std::floating_point T>
void Loop<T>::compute_true_residual() {
  const auto before = std::chrono::steady_clock::now();
  if (options_.true_residual) {
    options_.true_residual(x_, r_);
  } else {
    a_.apply(x_, q_);
    T* r = r_.data();
    const T* b = b_.data();
    const T* q = q_.data();
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < r_.size(); ++i) r[i] = b[i] - q[i];
  }
  begin_ += std::chrono::steady_clock::now() - before;
}

template <std::floating_point T>
bool Loop<T>::iterate() {
  a_.apply(p_, q_, &energy_);
  const double energy = energy_.value();
  if (!std::isfinite(energy)) {
    result_.reason = StopReason::not_finite;
    return false;
  }
  if (energy <= 0) {
    result_.reason = StopReason::indefinite;
    return false;
  }
  Scalar& rz = rz_[current_];
  Scalar& new_rz = rz_[1 - current_];
  kernels_.update(rz, energy_, p_, q_, options_.inverse_diagonal, x_, r_, new_rz, rr_);
  kernels_.direction(new_rz, rz, r_, options_.inverse_diagonal, p_);
  current_ = 1 - current_;
  if (!std::isfinite(rr_.value()) || !std::isfinite(new_rz.value())) {
    result_.reason = StopReason::not_finite;
    return false;
  }
  if (new_rz.value() < 0) {
    result_.reason = StopReason::indefinite;
    return false;
  }
  return true;
}

template <std::floating_point T>
bool Loop<T>::finished() {
  if (result_.relative_residual > options_.tolerance) return false;
  compute_true_residual();
  restart();
  result_.true_relative_residual = std::sqrt(rr_.value()) / norm_b_;
  if (result_.true_relative_residual <= options_.tolerance) {
    result_.reason = StopReason::converged;
    return true;
  }
  if (!(result_.true_relative_residual < 0.5 * last_true_)) {
    result_.reason = StopReason::stagnated;
    return true;
  }
  last_true_ = result_.true_relative_residual;
  return false;
}

template <std::floating_point T>
CgResult Loop<T>::run() {
  begin_ = std::chrono::steady_clock::now();
  operators::fill(x_, T(0));
  operators::copy(b_, r_);
  restart();
  norm_b_ = std::sqrt(rr_.value());
  if (!std::isfinite(norm_b_)) {
    result_.reason = StopReason::not_finite;
    return result_;
  }
  if (norm_b_ == 0) {
    result_.reason = StopReason::converged;
    return result_;
  }
  bool go_on = record(0);
  for (std::int64_t k = 1; go_on && !finished(); ++k) {
    if (k > options_.max_iterations) {
      result_.reason = StopReason::max_iterations;
      break;
    }
    if (!iterate()) break;
    go_on = record(k);
  }
  if (!go_on) result_.reason = StopReason::interrupted;
  result_.seconds = seconds();
  return result_;
}

}  // namespace

template <std::floating_point T>
CgResult conjugate_gradients(const Operator<T>& a, const Vector<T>& b, Vector<T>& x, const CgOptions<T>& options) {
  return Loop<T>(a, b, x, options).run();
}

template CgResult conjugate_gradients(const Operator<double>&, const Vector<double>&, Vector<double>&,
                                      const CgOptions<double>&);
template CgResult conjugate_gradients(const Operator<float>&, const Vector<float>&, Vector<float>&,
                                      const CgOptions<float>&);

}  // namespace femcg::solver
