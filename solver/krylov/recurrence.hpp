#pragma once

// The recurrences of CG in batches of iterations, as passes that a GPU can be given at once.

#include <optional>
#include <vector>

#include "operators/backend/passes/vector_operations.hpp"
#include "operators/capabilities.hpp"
#include "operators/persistent/persistent_cg.hpp"
#include "solver/krylov/cg_choice.hpp"
#include "solver/krylov/merged_passes.hpp"
#include "solver/krylov/preconditioner.hpp"

namespace femcg::solver {

/// The passes that the operator brings with it, else femcg's own.
template <std::floating_point T>
const operators::VectorOperations<T>& operations_for(const operators::Operator<T>& a) {
  const auto* with = dynamic_cast<const operators::WithVectorOperations<T>*>(&a);
  return with != nullptr ? with->vector_operations() : operators::vector_operations<T>(a.device());
}

/// The scalars of a batch of iterations, and of the one before it.
class BatchScalars {
 public:
  BatchScalars(std::int64_t iterations, operators::Device device)
      : numbers_(operators::CgScalars::count * (iterations + 2), device), iterations_(iterations) {
    operators::clear(numbers_);
    for (std::int64_t i = 0; i < iterations + 2; ++i) of_.emplace_back(numbers_, operators::CgScalars::count * i);
  }
  /// Of iteration i < iterations of the batch; -1 is the one before.
  operators::CgScalars& of(std::int64_t i) { return of_[i + 1]; }
  const operators::Vector<double>& numbers() const { return numbers_; }
  operators::Vector<double>& numbers() { return numbers_; }

  /// The scalars that the next batch begins with, as if a batch had ended with them.
  operators::CgScalars& last() { return of_.back(); }
  void clear() { operators::clear(numbers_); }
  /// Begins a batch where the last one ended.
  void go_on() {
    for (const std::int64_t i : {-1, 0})  // apart, since a batch may be shorter than what is copied
      operators::copy_bytes(of(iterations_ + i).rz.data(), numbers_.device(), of(i).rz.data(), numbers_.device(),
                            operators::CgScalars::count * std::int64_t{sizeof(double)});
  }

 private:
  operators::Vector<double> numbers_;
  std::int64_t iterations_;
  std::vector<operators::CgScalars> of_;
};

/// The vectors and passes of one recurrence, in batches of so many iterations.
template <std::floating_point T>
class Recurrence {
 public:
  /// `preconditioner` may be null for M = I; one that is not fused is for the classic recurrence. `merged` may be null;
  /// it is for the classic recurrence and fused ones.
  Recurrence(const operators::Operator<T>& a, const Preconditioner<T>* preconditioner, CgMethod method,
             std::int64_t batch, const operators::WithMergedCg<T>* merged = nullptr)
      : a_(a),
        operations_(operations_for(a)),
        inverse_diagonal_(preconditioner != nullptr ? preconditioner->inverse_diagonal() : nullptr),
        applied_(preconditioner != nullptr && !preconditioner->is_fused() ? preconditioner : nullptr),
        method_(method),
        delayed_(method == CgMethod::single_reduction ? dynamic_cast<const operators::WithDelayedSums*>(&operations_)
                                                      : nullptr),
        deferred_(has_one_sum(method) || merged != nullptr || batch < 2 ? nullptr : operations_.deferred()),
        x_(a.size(), a.device()),
        r_(a.size(), a.device()),
        z_(applied_ != nullptr ? a.size() : 0, a.device()),
        v_{vector_where(method == CgMethod::single_reduction && inverse_diagonal_ != nullptr), vector_where(true),
           vector_where(true), vector_where(has_one_sum(method))},
        ahead_{vector_where(method == CgMethod::pipelined && inverse_diagonal_ != nullptr),
               vector_where(method == CgMethod::pipelined), vector_where(method == CgMethod::pipelined)},
        second_p_(vector_where(deferred_ != nullptr)) {
    if (const auto* delays = dynamic_cast<const operators::WithDelayedSums*>(&operations_))
      delays->delay_sums(delayed_ != nullptr);
    for (operators::Vector<T>* vector : {&x_, &r_, &v_.u, &v_.w, &v_.p, &v_.s, &ahead_.m, &ahead_.n, &ahead_.z})
      operators::clear(*vector);
    if (merged != nullptr) merged_.emplace(*merged, operations_, inverse_diagonal_, x_, r_, v_.p, v_.w);
  }

  /// Whether x moves in every second iteration.
  bool deferred() const { return deferred_ != nullptr || merged_; }
  /// What its vectors are of those of the whole system.
  const operators::VectorShare& share() const { return operations_.share(); }
  operators::Vector<T>& x() { return settled(x_); }
  operators::Vector<T>& r() { return settled(r_); }
  /// Two vectors for whoever needs them before a restart.
  operators::Vector<T>& p() { return settled(v_.p); }
  operators::Vector<T>& w() { return settled(v_.w); }

  /// x = 0 for the r at hand.
  void restart(BatchScalars& scalars) {
    if (merged_) merged_->begin();
    scalars.clear();
    operators::clear(x_);
    operators::clear(v_.s);
    operators::Vector<T>& u = v_.u.size() > 0 ? v_.u : ahead_.m.size() > 0 ? ahead_.m : v_.p;
    operations_.start(r_, inverse_diagonal_, u, scalars.last());
    if (delayed_ != nullptr) multiply_for(scalars.last());
    if (method_ == CgMethod::pipelined) {
      a_.apply(u, v_.w, &scalars.last().uw);
      solved(v_.w);  // m
      operators::clear(ahead_.z);
    }
    if (has_one_sum(method_)) operators::clear(v_.p);
    if (applied_ != nullptr) {
      applied_->apply(r_, v_.p);
      operations_.dot(r_, v_.p, scalars.last().rz);
    }
  }

  /// Goes on from x = 0 with this residual, which is near the r at hand, and with the direction at hand, which gets the
  /// difference of the two: p = M^-1 r + beta p_before for the new r. For the classic recurrence. `residual` is used
  /// up.
  void replace_residual(operators::Vector<T>& residual, BatchScalars& scalars) {
    if (merged_) merged_->settle();
    operators::InverseDiagonal ones(a_.size(), a_.device());
    operators::Vector<T> change(a_.size(), a_.device());
    operators::fill(ones, 1.0F);
    operators::clear(change);
    if (applied_ != nullptr) {
      applied_->apply(residual, x_);
      operators::chebyshev_next(0.0, 1.0, x_, z_, ones, change, v_.p);  // p += M^-1 residual - z
      operators::copy(x_, z_);
    } else {
      operators::chebyshev_next(0.0, 1.0, residual, r_, inverse_diagonal_ != nullptr ? *inverse_diagonal_ : ones,
                                change, v_.p);
    }
    operators::copy(residual, r_);
    scalars.clear();
    operators::clear(x_);
    operations_.start(r_, inverse_diagonal_, change, scalars.last());  // r'z and r'r
    if (applied_ != nullptr) operations_.dot(r_, z_, scalars.last().rz);
  }

  /// Of the pipelined recurrence, between two batches: what it knows only by addition, whose rounding grows, is
  /// multiplied anew. w = A M^-1 r, s = A p, z = A M^-1 s: three products (after Cools et al. 2018, who replace r too).
  void refresh(BatchScalars& scalars) {
    a_.apply(solved(r_), v_.w, &scalars.last().uw);
    a_.apply(v_.p, v_.s);
    a_.apply(solved(v_.s), ahead_.z);
    solved(v_.w);  // m
  }

  void iterate(std::int64_t iterations, BatchScalars& scalars, const operators::PersistentCg<T>* resident) {
    scalars.go_on();
    if (resident != nullptr) {
      resident->iterate(iterations, v_, inverse_diagonal_, x_, r_, scalars.numbers());
      return;
    }
    std::int64_t i = 0;
    if (deferred_ != nullptr)
      for (; i + 1 < iterations; i += 2) two_steps(scalars.of(i), scalars.of(i + 1), scalars.of(i + 2));
    for (; i < iterations; ++i) {
      if (method_ == CgMethod::single_reduction)
        advance(scalars.of(i - 1), scalars.of(i), scalars.of(i + 1));
      else if (method_ == CgMethod::pipelined)
        advance_pipelined(scalars.of(i - 1), scalars.of(i), scalars.of(i + 1));
      else if (merged_)
        merged_->iterate(scalars.of(i), scalars.of(i + 1));
      else
        step(scalars.of(i), scalars.of(i + 1));
    }
    if (method_ == CgMethod::pipelined) operations_.complete_sums(scalars.of(iterations));
  }

 private:
  /// A vector of the classic recurrence.
  operators::Vector<T>& settled(operators::Vector<T>& vector) {
    if (merged_) merged_->settle();
    return vector;
  }
  operators::Vector<T> vector_where(bool needed) const {
    return operators::Vector<T>(needed ? a_.size() : 0, a_.device());
  }
  void step(operators::CgScalars& now, operators::CgScalars& next) {
    move_residual(v_.p, now, next);
    operations_.direction(now, next, residual_for_direction(), inverse_diagonal_, v_.p, x_);
  }
  void two_steps(operators::CgScalars& now, operators::CgScalars& next, operators::CgScalars& after) {
    move_residual(v_.p, now, next);
    deferred_->defer(now, next, residual_for_direction(), inverse_diagonal_, v_.p, second_p_);
    move_residual(second_p_, next, after);
    deferred_->catch_up(now, next, after, residual_for_direction(), inverse_diagonal_, second_p_, v_.p, x_);
  }
  /// r -= alpha A p, and the sums of the new r; z = M^-1 r where the passes cannot make it.
  void move_residual(const operators::Vector<T>& p, operators::CgScalars& now, operators::CgScalars& next) {
    a_.apply(p, v_.w, &now.energy);
    operations_.update(now, v_.w, inverse_diagonal_, r_, next);
    if (applied_ == nullptr) return;
    applied_->apply(r_, z_);
    operations_.dot(r_, z_, next.rz);
  }
  /// What the passes make M^-1 r from.
  const operators::Vector<T>& residual_for_direction() const { return applied_ != nullptr ? z_ : r_; }
  /// w = A u and its sum, for an iteration.
  void multiply_for(operators::CgScalars& now) { a_.apply(inverse_diagonal_ != nullptr ? v_.u : r_, v_.w, &now.uw); }
  /// Where sums are delayed, the product of the next iteration comes at the end, with which they are made.
  void advance(operators::CgScalars& before, operators::CgScalars& now, operators::CgScalars& next) {
    if (delayed_ == nullptr) multiply_for(now);
    operations_.advance(before, now, v_, inverse_diagonal_, x_, r_, next);
    if (delayed_ != nullptr) multiply_for(next);
  }
  /// M^-1 of a vector, in m; n is written over.
  const operators::Vector<T>& solved(const operators::Vector<T>& of) {
    if (inverse_diagonal_ == nullptr) return of;
    operators::chebyshev_first(1.0, of, *inverse_diagonal_, ahead_.m, ahead_.n);
    return ahead_.m;
  }
  /// The sums that the iteration before has begun are made beside the product.
  void advance_pipelined(operators::CgScalars& before, operators::CgScalars& now, operators::CgScalars& next) {
    a_.apply(inverse_diagonal_ != nullptr ? ahead_.m : v_.w, ahead_.n);
    operations_.advance_pipelined(before, now, v_, ahead_, inverse_diagonal_, x_, r_, next);
  }

  const operators::Operator<T>& a_;
  const operators::VectorOperations<T>& operations_;
  const operators::InverseDiagonal* inverse_diagonal_;  ///< null where M = I, or M is not diagonal
  const Preconditioner<T>* applied_;                    ///< where M is not diagonal
  CgMethod method_;
  const operators::WithDelayedSums* delayed_;  ///< null where sums do not wait for a product
  const operators::DeferredUpdate<T>* deferred_;
  operators::Vector<T> x_, r_;
  operators::Vector<T> z_;           ///< M^-1 r where M is not diagonal
  operators::SingleReduction<T> v_;  ///< of the classic recurrence w is A p, and there are no u and s
  operators::Pipelined<T> ahead_;    ///< of the pipelined one
  operators::Vector<T> second_p_;
  std::optional<MergedPasses<T>> merged_;
};

}  // namespace femcg::solver
