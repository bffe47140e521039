#pragma once

// Recurrences of CG as sequences of vector kernels that can be enqueued on a GPU in advance. Formulas: cg.cpp.

#include <type_traits>

#include "operators/backend/passes/multi_vector_kernels.hpp"
#include "operators/backend/passes/vector_kernels.hpp"
#include "operators/capabilities.hpp"
#include "solver/krylov/batch_queue.hpp"
#include "solver/krylov/preconditioner.hpp"

namespace femcg::solver {

/// Vector kernels of the operator if it brings its own, else femcg's.
template <std::floating_point T>
const operators::VectorKernels<T>& vector_kernels_for(const operators::Operator<T>& a) {
  const auto* with = dynamic_cast<const operators::WithVectorKernels<T>*>(&a);
  return with != nullptr ? with->vector_kernels() : operators::vector_kernels<T>(a.device());
}
/// The same for multi-vectors.
template <std::floating_point T>
const operators::MultiVectorKernels<T>& multi_vector_kernels_for(const operators::Operator<T>& a) {
  const auto* with = dynamic_cast<const operators::WithMultiVectorKernels<T>*>(&a);
  return with != nullptr ? with->multi_vector_kernels() : operators::multi_vector_kernels<T>(a.device());
}

/// Kernels for a vector (operators::Vector) or a multi-vector (operators::MultiVector).
template <std::floating_point T, template <class> class Vectors>
const operators::CgKernels<Vectors<T>>& kernels_for(const operators::Operator<T>& a) {
  if constexpr (std::is_same_v<Vectors<T>, operators::Vector<T>>)
    return vector_kernels_for(a);
  else
    return multi_vector_kernels_for(a);
}
/// Turns delayed sums on or off, for kernels that can leave sums to the next product; returns true if they are delayed.
template <class Kernels>
bool delay_sums(const Kernels& kernels, bool delayed) {
  const auto* with = dynamic_cast<const operators::WithDelayedSums*>(&kernels);
  if (with != nullptr) with->delay_sums(delayed);
  return with != nullptr && delayed;
}

/// Application of M^-1 in a recurrence: the vector kernels multiply by `diagonal`, or by nothing if it is null; if M is
/// neither I nor diagonal, `applied` computes z = M^-1 r as a further vector.
template <std::floating_point T>
struct Inverse {
  Inverse() = default;
  explicit Inverse(const operators::InverseDiagonal& of) : diagonal(&of) {}
  explicit Inverse(const Preconditioner<T>* m)
      : diagonal(m != nullptr ? m->inverse_diagonal() : nullptr),
        applied(m != nullptr && !m->is_fused() ? m : nullptr) {}
  const operators::InverseDiagonal* diagonal = nullptr;
  const Preconditioner<T>* applied = nullptr;
};

/// Correction x and residual r of a recurrence on one system (`Vectors` is operators::Vector), or on several with the
/// same matrix (operators::MultiVector).
template <std::floating_point T, template <class> class Vectors = operators::Vector>
class Recurrence {
 public:
  using V = Vectors<T>;
  using Scalars = typename operators::CgScalarsOf<V>::Type;

  virtual ~Recurrence() = default;
  Recurrence(const Recurrence&) = delete;
  Recurrence& operator=(const Recurrence&) = delete;

  /// Starts with x = 0 and the residual in r().
  virtual void start(Scalars& first) = 0;
  /// Enqueues `iterations` iterations on the device.
  virtual void iterate(std::int64_t iterations, BatchScalars<Scalars>& scalars) = 0;
  /// Recomputes, between two batches, vectors that are otherwise only updated by recurrences.
  virtual void refresh(Scalars&) {}
  /// True if x is updated in every second iteration only.
  virtual bool defers_x() const { return false; }

  V& x() { return flushed(x_); }
  V& r() { return flushed(r_); }
  /// The direction, and a product with A; free for other use before start().
  V& p() { return flushed(direction()); }
  V& w() { return flushed(product()); }

 protected:
  Recurrence(const operators::Operator<T>& a, const Inverse<T>& m, int count = 1)
      : a_(a), m_(m), count_(count), x_(zeros()), r_(zeros()) {}

  virtual V& direction() = 0;
  virtual V& product() = 0;
  /// Updates x, r and p to the last iteration if they lag behind.
  virtual void flush() {}

  /// Zeros for all systems; empty if not needed.
  V zeros(bool needed = true) const {
    V v = unset(needed ? a_.size() : 0);
    operators::clear(v);
    return v;
  }

  const operators::Operator<T>& a_;
  Inverse<T> m_;

 private:
  V unset(std::int64_t rows) const {
    if constexpr (std::is_same_v<V, operators::Vector<T>>)
      return V(rows, a_.device());
    else
      return V(rows, count_, a_.device());
  }
  V& flushed(V& v) {
    flush();
    return v;
  }
  int count_;

 protected:
  V x_, r_;
};

/// The classic recurrence (Hestenes & Stiefel 1952), column by column.
template <std::floating_point T, template <class> class Vectors = operators::Vector>
class ClassicCg : public Recurrence<T, Vectors> {
 public:
  using typename Recurrence<T, Vectors>::V;
  using typename Recurrence<T, Vectors>::Scalars;

  /// CG for `count` systems. With `pairs`, two iterations share one update of x if the kernels support it.
  ClassicCg(const operators::Operator<T>& a, const Inverse<T>& m, bool pairs, int count = 1);

  void start(Scalars& first) override;
  void iterate(std::int64_t iterations, BatchScalars<Scalars>& scalars) override;
  bool defers_x() const override { return delayed_update_ != nullptr; }
  /// Continues from x = 0 with this residual, which is close to r, and with the current direction corrected by their
  /// difference: p = M^-1 r + beta p_before for the new r. Overwrites `residual`.
  void replace_residual(V& residual, Scalars& first);

 protected:
  V& direction() override { return p_; }
  V& product() override { return w_; }
  const operators::CgKernels<V>& kernels() const { return kernels_; }

 private:
  void precondition(V& z, Scalars& of);
  void step(Scalars& now, Scalars& next);
  void two_steps(Scalars& now, Scalars& next, Scalars& after);
  void move_residual(const V& p, Scalars& now, Scalars& next);
  /// Vector from which the kernels compute M^-1 r.
  const V& residual() const { return this->m_.applied != nullptr ? z_ : this->r_; }

  const operators::CgKernels<V>& kernels_;
  const operators::DelayedUpdate<V>* delayed_update_;
  V p_, w_;     ///< w = A p
  V z_;         ///< M^-1 r if M is not diagonal
  V second_p_;  ///< every other direction, if two iterations share an update of x
};

}  // namespace femcg::solver
