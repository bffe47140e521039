#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "solver/krylov/cg.hpp"

namespace femcg::solver {

/// Estimates the energy of CG's error, |x - A^-1 b|_A^2, from CG's coefficients. Iteration j lowers it by
///
///   f_j = alpha_j r_j'z_j = (r_j'z_j)^2 / p_j'Ap_j          (Hestenes & Stiefel 1952)
///
/// in finite precision too (Strakoš & Tichý 2002), so that the energy before iteration j is the sum of all f from j on.
/// The unknown rest of that sum is extrapolated: with T_j = f_j + ... + f_{j+q-1}, the ratio of the energy before j to
/// T_j is assumed to be no larger at the end than since the energy was 10^4 times its present value (Meurant, Papež &
/// Tichý 2021), and than at the last restart. On a plateau, the estimate is the gain of the whole plateau.
///
/// Until enough iterations have been made after a restart, the energy is estimated as r'z times twice the largest ratio
/// so far of the energy before an iteration to r'z, a ratio bounded by 1 over the least eigenvalue of M^-1 A; with M =
/// A the energy is r'z itself. There, a start approximated by M counts as an iteration.
class ErrorEnergy {
 public:
  explicit ErrorEnergy(bool is_rz = false)
      : is_rz_(is_rz), most_of_rz_(is_rz ? 0.5 : std::numeric_limits<double>::quiet_NaN()) {}

  /// CG restarts from a residual r with this r'z; NaN if unknown.
  void restart(double rz) {
    rz_ = rz;
    falls_.clear();
    rz_before_.clear();
    is_restarted_ = ratio_ > 1;
    ratio_before_ = ratio_;
  }
  /// To be called before a restart: an approximation outside CG removed nearly all of this energy, which belonged to a
  /// residual of this r'z.
  void add_start(double energy, double rz) { most_of_rz_ = std::fmax(most_of_rz_, std::max(1.0, energy / rz)); }
  /// The residual was replaced by the true one, and the direction retained.
  void go_on(double rz) { rz_ = rz; }
  /// Adds an iteration along a p with this p'Ap; r'z after it.
  void add(double p_ap, double rz) {
    rz_before_.push_back(rz_);
    add_fall(rz_ * (rz_ / p_ap));
    rz_ = rz;
  }
  /// Adds an iteration by its f_j.
  void add_fall(double fall) { falls_.push_back(fall); }

  /// Energy after the last iteration; infinite with too few iterations.
  double estimate() const {
    const std::int64_t k = std::ssize(falls_), q = std::max<std::int64_t>(2, k / 32);
    if (is_rz_ || k <= 2 * q) {
      double most = most_of_rz_;
      for (std::size_t j = 0; !is_rz_ && !std::isnan(most) && j < rz_before_.size(); ++j)
        most = std::max(most, falls_[j] / rz_before_[j]);
      const double energy = 2 * most * rz_;
      return std::isnan(energy) ? std::numeric_limits<double>::infinity() : energy;
    }
    constexpr double look_back = 1e4;
    const auto fall = [&](std::int64_t j) { return falls_[static_cast<std::size_t>(j)]; };
    double since = 0, window = 0, last = 0, most = 0, ratio = ratio_before_;
    for (std::int64_t j = k - 1; j >= 0; --j) {
      since += fall(j);
      window += fall(j);
      if (j + q < k) window -= fall(j + q);
      if (j == k - q) last = since;
      if (j == k - 2 * q) most = look_back * since;
      if (j > k - 2 * q) continue;
      if (since > most) break;
      if (j < std::ssize(rz_before_) && rz_before_[j] > 0)
        most_of_rz_ = std::fmax(most_of_rz_, since / rz_before_[static_cast<std::size_t>(j)]);
      ratio = std::max(ratio, since / std::max(window, std::numeric_limits<double>::min()));
    }
    ratio_ = ratio;
    return (is_restarted_ ? ratio : ratio - 1) * last;  // after a restart, with little data, the energy before T
  }
  /// Decrease of the energy since the last restart.
  double fallen() const { return std::accumulate(falls_.begin(), falls_.end(), 0.0); }

 private:
  bool is_rz_;
  double rz_ = 0;
  mutable double most_of_rz_;  ///< largest ratio of the energy before an iteration to r'z; NaN if unknown
  mutable double ratio_ = 1;   ///< last found ratio of the energy before an iteration to T
  double ratio_before_ = 1;
  bool is_restarted_ = false;
  std::vector<double> falls_, rz_before_;  ///< f_j and r_j'z_j since the last restart
};

/// Stopping criterion in energy for one system: the error's relative to the solution's.
class EnergyCriterion {
 public:
  EnergyCriterion() = default;
  /// `is_inverse`: Preconditioner::is_inverse.
  EnergyCriterion(EnergyCheck check, double tolerance, bool is_inverse)
      : check_(std::move(check)), tolerance_(tolerance), residual_(tolerance), error_(is_inverse) {}

  bool is_on() const { return static_cast<bool>(check_.of_solution); }
  ErrorEnergy& error() { return error_; }
  /// Reference norm of relative residuals; by default CG's |b|.
  double norm(double b) const { return check_.norm_b > 0 ? check_.norm_b : b; }
  /// Relative residual at which checking the true one is worthwhile.
  double residual() const { return residual_; }

  /// True if the error's energy after `iterations` iterations is small enough, relative to that of the solution at its
  /// last measurement, by `measured(of_solution)` with the solution so far. `relative`: |r| relative to its value at
  /// the start of the recurrence; if only rounding is left of it, further iterations give no information.
  template <class Measured>
  bool is_met(std::int64_t iterations, double relative, const Measured& measured) {
    exhausted_ = relative <= 4 * std::numeric_limits<double>::epsilon();
    if (!is_on() || exhausted_) return true;
    const double error = error_.estimate();
    if (!std::isfinite(error)) return false;
    if (iterations >= measure_at_) {
      energy_ = measured(check_.of_solution);
      measure_at_ = iterations + iterations / 4 + 1;
    }
    awaited_error_ = std::sqrt(error / energy_);
    return error <= allowed();
  }
  /// Quantities that must still fall to the tolerance, at this relative residual.
  Awaited awaited(double relative_residual) {
    const double scale = residual_ < tolerance_ ? tolerance_ / residual_ : 1;
    return {scale * relative_residual, std::exchange(awaited_error_, 0.0)};
  }
  /// True if p'Ap <= 0 of a direction p is due to rounding, the residual being small enough already.
  bool exhausts(double relative_residual) {
    exhausted_ = is_on() && relative_residual <= residual_;
    return exhausted_;
  }
  /// True if x and its true residual r are accepted. If |r| differs from the recurrence's, the coefficients carry no
  /// information on this x: only those after a restart do, which must then find that little energy was left.
  bool accepts(std::span<const double> x, std::span<const double> r, double relative_residual,
               double relative_residual_of_recurrence) {
    const double error = error_.estimate();
    const SolutionAccuracy found = check_.accuracy(x, r);
    excess_ = std::max(found.excess, relative_residual / tolerance_);
    energy_ = found.energy;
    const bool agrees = relative_residual <= 2 * relative_residual_of_recurrence;
    const bool had_converged = std::isfinite(error) && error_.fallen() + error <= allowed();
    if (excess_ > 1) residual_ = std::min(residual_, 0.5 * relative_residual / excess_);  // at the next check
    const bool is_unknown = exhausted_ || !std::isfinite(error), exact = is_unknown && excess_ <= exact_;
    relative_error_ =
        is_unknown ? std::min(std::sqrt(error / energy_), excess_ * tolerance_) : std::sqrt(error / energy_);
    return exact || (excess_ <= 1 && error <= allowed() && (agrees || had_converged));
  }
  /// True if a rejected x is accepted after a restart from its true residual: the error has little energy.
  bool accepts_restarted() {
    const double error = error_.estimate();
    if (excess_ > 1 || error > allowed()) return false;
    relative_error_ = std::sqrt(error / energy_);
    return true;
  }
  /// Largest ratio of a checked quantity to its tolerance; at most 1 if accepted.
  double excess() const { return excess_; }
  /// |x - A^-1 b|_A over the square root of the solution's energy, at the last check of x; NaN before.
  double relative_error() const { return relative_error_; }

 private:
  double allowed() const { return tolerance_ * tolerance_ * energy_; }

  static constexpr double exact_ = 1e-3;  ///< excess of a residual that a few iterations can solve

  EnergyCheck check_;
  double tolerance_ = 0, residual_ = 0, excess_ = 0;
  ErrorEnergy error_;
  double energy_ = 0;         ///< of the solution
  double awaited_error_ = 0;  ///< last result of is_met, until it is reported
  bool exhausted_ = false;    ///< only rounding is left of the recurrence's residual
  double relative_error_ = std::numeric_limits<double>::quiet_NaN();
  std::int64_t measure_at_ = 0;
};

}  // namespace femcg::solver
