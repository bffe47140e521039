#pragma once

#include "operators/capabilities.hpp"
#include "operators/cellwise/cell_loops/fused_cg.hpp"
#include "solver/krylov/recurrence.hpp"

namespace femcg::solver {

/// The classic recurrence with its vector kernels fused into the next iteration's product (operators::FusedStep): alpha
/// and beta come from sums that the product computes,
///   r'z of the next r = r - alpha w is r'z - 2 alpha z'w + alpha^2 w'M^-1 w,
/// and x is updated in every second iteration, along p and the direction before it, (p - z) / beta (Kronbichler et al.
/// 2022). r'z and r'r themselves are recomputed in every product.
template <std::floating_point T>
class MergedCg final : public ClassicCg<T> {
 public:
  using typename ClassicCg<T>::Scalars;

  MergedCg(const operators::Operator<T>& a, const Inverse<T>& m, const operators::WithFusedCg<T>& fused_cg)
      : ClassicCg<T>(a, m, false), fused_(fused_cg) {
    next_ = {.inverse_diagonal = operators::data_of(m.diagonal),
             .x = this->x_.data(),
             .r = this->r_.data(),
             .p = this->direction().data(),
             .v = this->product().data()};
  }

  void start(Scalars& first) override {
    begin();
    ClassicCg<T>::start(first);
  }
  void iterate(std::int64_t iterations, BatchScalars<Scalars>& scalars) override {
    for (std::int64_t i = 0; i < iterations; ++i) step(scalars.of(i), scalars.of(i + 1));
  }
  bool defers_x() const override { return true; }

 private:
  /// Sets a step without effect: the next product starts from r and p as they are.
  void begin() {
    next_.along = next_.back = next_.step = next_.keep = 0;
    next_.beta = 1;
    delayed_ = 0;
    is_flushed_ = true;
  }

  void step(Scalars& now, Scalars& next) {
    const operators::FusedSums sums = fused_.fused_product(next_);
    *now.rz.data() = sums.rz;
    *now.energy.data() = sums.pv;
    const double alpha = operators::step_length(sums.rz, sums.pv);
    const double rz = sums.rz - 2 * alpha * sums.zv + alpha * alpha * sums.vz,
                 rr = sums.rr - 2 * alpha * sums.rv + alpha * alpha * sums.vv;
    next_.step = static_cast<T>(alpha);
    next_.along = static_cast<T>(alpha + delayed_);
    next_.back = static_cast<T>(-delayed_);
    next_.keep = 0;
    next_.beta = 1;
    bool may_wait = delayed_ == 0 && alpha != 0;
    delayed_ = 0;
    if (rz > digits_kept * sums.rz && rr > digits_kept * sums.rr) {
      *next.rz.data() = rz;
      *next.rr.data() = rr;
    } else {  // the differences consist of rounding errors
      operators::merged_passes(next_, this->r_.size());
      begin();
      this->kernels().start(this->r_, this->m_.diagonal, this->product(), next);
      may_wait = false;
    }
    const double beta = operators::step_length(next.rz.value(), sums.rz);
    next_.keep = 1;
    next_.beta = static_cast<T>(beta);
    if (may_wait && beta > least_divisor) {
      delayed_ = alpha / beta;
      alpha_ = alpha;
      next_.along = next_.back = 0;
    }
    is_flushed_ = false;
  }

  void flush() override {
    if (is_flushed_) return;
    if (delayed_ != 0) next_.along = static_cast<T>(alpha_);
    operators::merged_passes(next_, this->r_.size());
    begin();
  }

  static constexpr double digits_kept = 1e-8;    ///< least ratio of a difference to its terms
  static constexpr double least_divisor = 1e-4;  ///< least beta for which the update of x is delayed

  const operators::WithFusedCg<T>& fused_;
  operators::FusedStep<T> next_;
  double alpha_ = 0, delayed_ = 0;  ///< alpha, and alpha / beta, of a delayed update of x
  bool is_flushed_ = true;
};

}  // namespace femcg::solver
