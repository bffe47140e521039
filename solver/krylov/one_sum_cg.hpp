#pragma once

// Recurrences with one global sum per iteration. With u = M^-1 r and w = A u, p'Ap follows from u'w:
//
//   beta = r'u / (r'u before),  p'Ap = u'w - beta^2 (p'Ap before),  alpha = r'u / p'Ap
//   p = u + beta p,  s = w + beta s,  x += alpha p,  r -= alpha s                     (Chronopoulos & Gear 1989)
//
// and if w and m = M^-1 w have recurrences too, the sums overlap with the product n = A m:
//
//   z = n + beta z,  w -= alpha z                                                     (Ghysels & Vanroose 2014)

#include <memory>
#include <utility>

#include "operators/persistent/persistent_cg.hpp"
#include "solver/krylov/recurrence.hpp"

namespace femcg::solver {

/// One sum per iteration, for small systems on a GPU, where latency dominates (Chronopoulos & Gear 1989). M is
/// diagonal.
template <std::floating_point T>
class SingleReductionCg final : public Recurrence<T> {
 public:
  using typename Recurrence<T>::Scalars;
  /// `kernel`: iterations in one persistent kernel; null: launched kernels.
  SingleReductionCg(const operators::Operator<T>& a, const Inverse<T>& m,
                    std::unique_ptr<operators::PersistentCg<T>> kernel)
      : Recurrence<T>(a, m),
        kernels_(vector_kernels_for(a)),
        persistent_(std::move(kernel)),
        v_{this->zeros(m.diagonal != nullptr), this->zeros(), this->zeros(), this->zeros()},
        delays_(delay_sums(kernels_, true)) {}

  void start(Scalars& first) override {
    operators::clear(this->x_);
    operators::clear(v_.s);
    kernels_.start(this->r_, this->m_.diagonal, this->m_.diagonal != nullptr ? v_.u : v_.p, first);
    if (delays_) multiply(first);
    operators::clear(v_.p);
  }
  /// With delayed sums, the product of the next iteration comes last and computes the sums.
  void iterate(std::int64_t iterations, BatchScalars<Scalars>& scalars) override {
    if (persistent_ != nullptr)
      return persistent_->iterate(iterations, v_, this->m_.diagonal, this->x_, this->r_, scalars.numbers());
    for (std::int64_t i = 0; i < iterations; ++i) {
      if (!delays_) multiply(scalars.of(i));
      kernels_.advance(scalars.of(i - 1), scalars.of(i), v_, this->m_.diagonal, this->x_, this->r_, scalars.of(i + 1));
      if (delays_) multiply(scalars.of(i + 1));
    }
  }

 private:
  operators::Vector<T>& direction() override { return v_.p; }
  operators::Vector<T>& product() override { return v_.w; }
  /// w = A u and u'w.
  void multiply(Scalars& now) { this->a_.apply(this->m_.diagonal != nullptr ? v_.u : this->r_, v_.w, &now.uw); }

  const operators::VectorKernels<T>& kernels_;
  std::unique_ptr<operators::PersistentCg<T>> persistent_;
  operators::SingleReduction<T> v_;
  bool delays_;  ///< the sums are made by the next product
};

/// One sum per iteration, overlapped with the next product (Ghysels & Vanroose 2014). M is diagonal.
template <std::floating_point T>
class PipelinedCg final : public Recurrence<T> {
 public:
  using typename Recurrence<T>::Scalars;
  PipelinedCg(const operators::Operator<T>& a, const Inverse<T>& m)
      : Recurrence<T>(a, m),
        kernels_(vector_kernels_for(a)),
        v_{operators::Vector<T>(0, a.device()), this->zeros(), this->zeros(), this->zeros()},
        ahead_{this->zeros(m.diagonal != nullptr), this->zeros(), this->zeros()} {
    delay_sums(kernels_, false);
  }

  void start(Scalars& first) override {
    operators::clear(this->x_);
    operators::clear(v_.s);
    operators::Vector<T>& u = this->m_.diagonal != nullptr ? ahead_.m : v_.p;
    kernels_.start(this->r_, this->m_.diagonal, u, first);
    this->a_.apply(u, v_.w, &first.uw);
    solved(v_.w);  // m
    operators::clear(ahead_.z);
    operators::clear(v_.p);
  }
  /// The sums begun by the previous iteration are completed during the product.
  void iterate(std::int64_t iterations, BatchScalars<Scalars>& scalars) override {
    for (std::int64_t i = 0; i < iterations; ++i) {
      this->a_.apply(this->m_.diagonal != nullptr ? ahead_.m : v_.w, ahead_.n);
      kernels_.advance_pipelined(scalars.of(i - 1), scalars.of(i), v_, ahead_, this->m_.diagonal, this->x_, this->r_,
                                 scalars.of(i + 1));
    }
    kernels_.complete_sums(scalars.of(iterations));
  }
  /// Recomputes w = A M^-1 r, s = A p, z = A M^-1 s by three products, since their recurrences accumulate rounding
  /// errors (after Cools et al. 2018, who replace r too).
  void refresh(Scalars& last) override {
    this->a_.apply(solved(this->r_), v_.w, &last.uw);
    this->a_.apply(v_.p, v_.s);
    this->a_.apply(solved(v_.s), ahead_.z);
    solved(v_.w);  // m
  }

 private:
  operators::Vector<T>& direction() override { return v_.p; }
  operators::Vector<T>& product() override { return v_.w; }
  /// M^-1 v, in m; overwrites n.
  const operators::Vector<T>& solved(const operators::Vector<T>& v) {
    if (this->m_.diagonal == nullptr) return v;
    operators::chebyshev_first(1.0, v, *this->m_.diagonal, ahead_.m, ahead_.n);
    return ahead_.m;
  }

  const operators::VectorKernels<T>& kernels_;
  operators::SingleReduction<T> v_;  ///< without u
  operators::Pipelined<T> ahead_;
};

}  // namespace femcg::solver
