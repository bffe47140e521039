// Conjugate gradients for A x = b with M^-1 near A^-1 (Hestenes & Stiefel 1952):
//
//   r = b - A x,  z = M^-1 r,  p = z
//   until |r| <= tolerance |b|:
//     w = A p
//     alpha = r'z / p'w
//     r -= alpha w,  z = M^-1 r
//     x += alpha p
//     beta = r'z / (r'z before),  p = z + beta p
//
// ClassicCg issues this to the device kernel by kernel; the other recurrences are in one_sum_cg.hpp and
// fused_recurrence.hpp. examine() is the stopping rule. CgRun handles batches, restarts, reliable updates and
// resumption.

#include "solver/krylov/cg.hpp"

#include "solver/krylov/cg_run.hpp"
#include "solver/krylov/recurrence.hpp"
#include "solver/krylov/restarts.hpp"

namespace femcg::solver {

using operators::Operator;
using operators::Vector;

template <std::floating_point T, template <class> class Vectors>
ClassicCg<T, Vectors>::ClassicCg(const Operator<T>& a, const Inverse<T>& m, bool pairs, int count)
    : Recurrence<T, Vectors>(a, m, count),
      kernels_(kernels_for<T, Vectors>(a)),
      delayed_update_(pairs ? kernels_.delayed_update() : nullptr),
      p_(this->zeros()),
      w_(this->zeros()),
      z_(this->zeros(m.applied != nullptr)),
      second_p_(this->zeros(delayed_update_ != nullptr)) {
  delay_sums(kernels_, false);
}

/// z = M^-1 r and r'z if M is not diagonal; otherwise the vector kernels have computed them.
template <std::floating_point T, template <class> class Vectors>
void ClassicCg<T, Vectors>::precondition(V& z, Scalars& of) {
  if (this->m_.applied == nullptr) return;
  this->m_.applied->apply(this->r_, z);
  kernels_.dot(this->r_, z, of.rz);
}

/// x = 0; p = z = M^-1 r; r'z and r'r.
template <std::floating_point T, template <class> class Vectors>
void ClassicCg<T, Vectors>::start(Scalars& first) {
  operators::clear(this->x_);
  kernels_.start(this->r_, this->m_.diagonal, p_, first);
  precondition(p_, first);
}

/// w = A p; alpha = r'z / p'w; r -= alpha w; z = M^-1 r; the new r'z and r'r.
template <std::floating_point T, template <class> class Vectors>
void ClassicCg<T, Vectors>::move_residual(const V& p, Scalars& now, Scalars& next) {
  this->a_.apply(p, w_, &now.energy);
  kernels_.update(now, w_, this->m_.diagonal, this->r_, next);
  precondition(z_, next);
}

/// One iteration: move_residual; x += alpha p; beta = r'z / (r'z before); p = z + beta p.
template <std::floating_point T, template <class> class Vectors>
void ClassicCg<T, Vectors>::step(Scalars& now, Scalars& next) {
  move_residual(p_, now, next);
  kernels_.direction(now, next, residual(), this->m_.diagonal, p_, this->x_);
}

/// Two iterations; the second one updates x along both directions.
template <std::floating_point T, template <class> class Vectors>
void ClassicCg<T, Vectors>::two_steps(Scalars& now, Scalars& next, Scalars& after) {
  move_residual(p_, now, next);
  delayed_update_->delay_update(now, next, residual(), this->m_.diagonal, p_, second_p_);
  move_residual(second_p_, next, after);
  delayed_update_->catch_up(now, next, after, residual(), this->m_.diagonal, second_p_, p_, this->x_);
}

template <std::floating_point T, template <class> class Vectors>
void ClassicCg<T, Vectors>::iterate(std::int64_t iterations, BatchScalars<Scalars>& scalars) {
  std::int64_t i = 0;
  if (delayed_update_ != nullptr)
    for (; i + 1 < iterations; i += 2) two_steps(scalars.of(i), scalars.of(i + 1), scalars.of(i + 2));
  for (; i < iterations; ++i) step(scalars.of(i), scalars.of(i + 1));
}

/// p += M^-1 (residual - r); then r = residual, x = 0.
template <std::floating_point T, template <class> class Vectors>
void ClassicCg<T, Vectors>::replace_residual(V& residual, Scalars& first) {
  this->flush();
  operators::InverseDiagonal ones(this->a_.size(), this->a_.device());
  V change = this->zeros();
  operators::fill(ones, 1.0F);
  if (this->m_.applied != nullptr) {
    this->m_.applied->apply(residual, this->x_);
    operators::chebyshev_next(0.0, 1.0, this->x_, z_, ones, change, p_);
    operators::copy(this->x_, z_);
  } else {
    operators::chebyshev_next(0.0, 1.0, residual, this->r_, this->m_.diagonal != nullptr ? *this->m_.diagonal : ones,
                              change, p_);
  }
  operators::copy(residual, this->r_);
  operators::clear(this->x_);
  kernels_.start(this->r_, this->m_.diagonal, change, first);
  if (this->m_.applied != nullptr) kernels_.dot(this->r_, z_, first.rz);
}

template class ClassicCg<double>;
template class ClassicCg<float>;
template class ClassicCg<double, operators::MultiVector>;
template class ClassicCg<float, operators::MultiVector>;

namespace {

/// Stopping rule, applied to every iteration of the oldest batch; false ends the loop. CG ends as converged only if the
/// true residual meets the tolerance, and, if requested, the energy of the error does; otherwise the recurrence
/// restarts from the true residual.
template <std::floating_point T>
bool examine(CgRun<T>& run) {
  const BatchQueue::Batch batch = run.receive();
  for (std::int64_t i = 0; i < batch.iterations; ++i) {
    const IterationNumbers numbers = run.read(batch, i);
    if (const auto reason = breakdown_of_direction(numbers.energy))
      return *reason == StopReason::indefinite && run.may_have_lost_energy() ? run.check() : run.stop(*reason);
    run.count();
    if (const auto reason = breakdown_of_residual(numbers.rz, numbers.rr)) return run.stop(*reason);
    if (!run.record(numbers)) return run.stop(StopReason::interrupted);
    if (run.is_at_tolerance()) return run.check();
  }
  return true;
}

}  // namespace

template <std::floating_point T>
CgResult conjugate_gradients(const Operator<T>& a, const Vector<T>& b, std::vector<double>& x,
                             const CgOptions<T>& options) {
  CgRun<T> run(a, b, x, options);
  if (run.begin()) {
    for (bool goes_on = true; goes_on;) {
      run.send_batches();
      if (run.has_batches())
        goes_on = examine(run);
      else if (run.update_is_due())
        goes_on = run.update();
      else
        goes_on = run.stop(StopReason::max_iterations);
    }
    run.end();
  }
  return run.result();
}

template CgResult conjugate_gradients(const Operator<double>&, const Vector<double>&, std::vector<double>&,
                                      const CgOptions<double>&);
template CgResult conjugate_gradients(const Operator<float>&, const Vector<float>&, std::vector<double>&,
                                      const CgOptions<float>&);

}  // namespace femcg::solver
