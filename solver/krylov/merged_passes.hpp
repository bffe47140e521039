#pragma once

#include "operators/backend/passes/vector_operations.hpp"
#include "operators/capabilities.hpp"
#include "operators/cellwise/cell_loops/merged_cg.hpp"

namespace femcg::solver {

/// The classic recurrence with its passes inside the product (operators::MergedStep), which an iteration leaves to the
/// next: alpha and beta come from sums that the product makes,
///   r'z of the next r = r - alpha v is r'z - 2 alpha z'v + alpha^2 v'M^-1 v,
/// and x moves in every second iteration, along p and the direction before it, (p - z) / beta (Kronbichler et al.
/// 2022). r'z and r'r themselves are summed up anew in every product.
template <std::floating_point T>
class MergedPasses {
 public:
  MergedPasses(const operators::WithMergedCg<T>& a, const operators::VectorOperations<T>& operations,
               const operators::InverseDiagonal* inverse_diagonal, operators::Vector<T>& x, operators::Vector<T>& r,
               operators::Vector<T>& p, operators::Vector<T>& v)
      : a_(a), operations_(operations), inverse_diagonal_(inverse_diagonal), r_(r), v_(v) {
    next_ = {.inverse_diagonal = inverse_diagonal != nullptr ? inverse_diagonal->data() : nullptr,
             .x = x.data(),
             .r = r.data(),
             .p = p.data(),
             .v = v.data()};
  }

  /// Nothing is left to do: r and p are what the next product begins with.
  void begin() {
    next_.along = next_.back = next_.step = next_.keep = 0;
    next_.beta = 1;
    owed_ = 0;
    is_settled_ = true;
  }

  void iterate(operators::CgScalars& now, operators::CgScalars& next) {
    const operators::MergedSums sums = a_.merged_product(next_);
    *now.rz.data() = sums.rz;
    *now.energy.data() = sums.pv;
    const double alpha = operators::step_length(sums.rz, sums.pv);
    const double rz = sums.rz - 2 * alpha * sums.zv + alpha * alpha * sums.vz,
                 rr = sums.rr - 2 * alpha * sums.rv + alpha * alpha * sums.vv;
    next_.step = static_cast<T>(alpha);
    next_.along = static_cast<T>(alpha + owed_);
    next_.back = static_cast<T>(-owed_);
    next_.keep = 0;
    next_.beta = 1;
    bool may_wait = owed_ == 0 && alpha != 0;
    owed_ = 0;
    if (rz > digits_kept * sums.rz && rr > digits_kept * sums.rr) {
      *next.rz.data() = rz;
      *next.rr.data() = rr;
    } else {  // what is left of the differences are rounding errors
      operators::merged_passes(next_, r_.size());
      begin();
      operations_.start(r_, inverse_diagonal_, v_, next);
      may_wait = false;
    }
    const double beta = operators::step_length(next.rz.value(), sums.rz);
    next_.keep = 1;
    next_.beta = static_cast<T>(beta);
    if (may_wait && beta > least_divisor) {
      owed_ = alpha / beta;
      alpha_ = alpha;
      next_.along = next_.back = 0;
    }
    is_settled_ = false;
  }

  /// Does what was left to the next iteration: x, r and p are those of the classic recurrence.
  void settle() {
    if (is_settled_) return;
    if (owed_ != 0) next_.along = static_cast<T>(alpha_);
    operators::merged_passes(next_, r_.size());
    begin();
  }

 private:
  static constexpr double digits_kept = 1e-8;    ///< of a difference whose terms are of order 1
  static constexpr double least_divisor = 1e-4;  ///< beta, for x to wait

  const operators::WithMergedCg<T>& a_;
  const operators::VectorOperations<T>& operations_;
  const operators::InverseDiagonal* inverse_diagonal_;
  operators::Vector<T>&r_, &v_;
  operators::MergedStep<T> next_;
  double alpha_ = 0, owed_ = 0;  ///< where x waits: alpha, and alpha / beta
  bool is_settled_ = true;
};

}  // namespace femcg::solver
