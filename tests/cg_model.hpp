#pragma once

// Recurrences of conjugate gradients in long double, with rounding bounds on their residuals in a working precision
// (tests/rounding_tape.hpp).

#include <algorithm>
#include <cmath>
#include <vector>

#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/benchmark/product_rounding.hpp"
#include "solver/krylov/cg_choice.hpp"
#include "tests/rounding.hpp"
#include "tests/rounding_tape.hpp"

namespace femcg::tests {

/// Unit roundoffs of vectors and products, and gamma_n for sums of n products.
struct CgPrecision {
  long double roundoff = 0, sum = 0;
};

class CgModel {
 public:
  using Vector = RoundingTape::Vector;
  using Place = RoundingTape::Place;

  /// Model for operators made from the matrix, or from the cells of a form.
  CgModel(const operators::CsrMatrix<double>& a, const operators::BilinearForm* cells, const std::vector<double>& b,
          bool jacobi, const CgPrecision& precision)
      : a_(a), cells_(cells), precision_(precision), zero_(tape_.given(Vector(b.size(), 0))) {
    x_ = zero_;
    b_ = r_ = tape_.given(Vector(b.begin(), b.end()));
    if (jacobi) inverse_ = inverse_diagonal();
    has_inverse_ = jacobi;
    bb_ = dot(b_, b_);
    residuals_.push_back(relative_norm(bb_));
  }

  /// Hestenes & Stiefel 1952.
  void classic(int iterations) {
    Place z = solve(r_), p = z, rz = dot(r_, z);
    for (int k = 0; k < iterations; ++k) {
      const Place q = product(p), alpha = quotient(rz, energy(p, q));
      x_ = plus(x_, alpha, p, 1);
      r_ = plus(r_, alpha, q, -1);
      z = solve(r_);
      const Place next = dot(r_, z), beta = quotient(next, rz);
      rz = next;
      p = plus(z, beta, p, 1);
      keep();
    }
  }

  /// Chronopoulos & Gear 1989.
  void single_reduction(int iterations) {
    Place p = zero_, s = zero_, u = solve(r_), rz = dot(r_, u), old_rz = rz, old_energy = 0;
    for (int k = 0; k < iterations; ++k) {
      const Place w = product(u), uw = energy(u, w);
      Place of_p = uw;
      if (k > 0) {
        const Place beta = quotient(rz, old_rz);
        of_p = less_square(uw, beta, old_energy);
        p = plus(u, beta, p, 1);
        s = plus(w, beta, s, 1);
      } else {
        p = u;
        s = w;
      }
      const Place alpha = quotient(rz, of_p);
      x_ = plus(x_, alpha, p, 1);
      r_ = plus(r_, alpha, s, -1);
      u = solve(r_);
      old_rz = rz;
      old_energy = of_p;
      rz = dot(r_, u);
      keep();
    }
  }

  /// Ghysels & Vanroose 2014.
  void pipelined(int iterations) {
    Place p = zero_, s = zero_, z = zero_, u = solve(r_), w = product(u), rz = dot(r_, u), uw = energy(u, w),
          old_rz = rz, old_energy = 0;
    for (int k = 0; k < iterations; ++k) {
      const Place n = product(solve(w));
      Place of_p = uw;
      if (k > 0) {
        const Place beta = quotient(rz, old_rz);
        of_p = less_square(uw, beta, old_energy);
        p = plus(u, beta, p, 1);
        s = plus(w, beta, s, 1);
        z = plus(n, beta, z, 1);
      } else {
        p = u;
        s = w;
        z = n;
      }
      const Place alpha = quotient(rz, of_p);
      x_ = plus(x_, alpha, p, 1);
      r_ = plus(r_, alpha, s, -1);
      w = plus(w, alpha, z, -1);
      u = solve(r_);
      old_rz = rz;
      old_energy = of_p;
      rz = dot(r_, u);
      uw = dot(u, w);
      keep();
    }
  }

  int iterations() const { return static_cast<int>(residuals_.size()) - 1; }
  /// |r_k| / |b| of the recurrence, and |b - A x_k| / |b|.
  long double residual(int k) const { return tape_.number(residuals_[k]); }
  long double rounding_of_residual(int k) { return tape_.rounding_of(residuals_[k]); }
  long double true_residual(int k) { return tape_.number(true_residual_of(k)); }
  long double rounding_of_true_residual(int k) { return tape_.rounding_of(true_residual_of(k)); }

 private:
  solver::ProductRounding rounding_of_product(const std::vector<double>& p) const {
    return cells_ != nullptr ? solver::rounding_of_product(*cells_, p) : solver::rounding_of_product(a_, p);
  }

  /// 1 / d, both rounded, then rounded to single precision (operators::InverseDiagonal); exact if all possible values
  /// round to the same number. The terms of a sum over cells are bounded by those of a product with ones.
  Place inverse_diagonal() {
    const auto n = static_cast<std::size_t>(a_.rows);
    const solver::ProductRounding of_ones = rounding_of_product(std::vector<double>(n, 1.0));
    Vector inverse(n), rounding(n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::int64_t k = a_.row_offsets[i]; k < a_.row_offsets[i + 1]; ++k)
        if (a_.columns[k] == static_cast<std::int32_t>(i)) {
          const long double exact = 1 / static_cast<long double>(a_.values[k]);
          const long double of_sum = cells_ != nullptr ? of_ones.bound(i, precision_.roundoff) * exact : 0;
          const long double off = exact * (of_sum + 2 * precision_.roundoff);
          const long double least = static_cast<float>(exact - off), most = static_cast<float>(exact + off);
          inverse[i] = static_cast<float>(exact);
          rounding[i] = std::max(most - inverse[i], inverse[i] - least);
        }
    return tape_.given(std::move(inverse), std::move(rounding));
  }

  Vector times_matrix(const Vector& x) const {
    Vector y(x.size(), 0);
    for (std::int32_t i = 0; i < a_.rows; ++i)
      for (std::int64_t k = a_.row_offsets[i]; k < a_.row_offsets[i + 1]; ++k) y[i] += a_.values[k] * x[a_.columns[k]];
    return y;
  }

  void pull_back(Place to, const Vector& slope, long double factor) {
    Vector& sum = tape_.slope(to);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += factor * slope[i];
  }

  /// A p, with the operators' rounding; A is symmetric.
  Place product(Place p) {
    const Vector& of = tape_[p];
    const solver::ProductRounding rounding = rounding_of_product(std::vector<double>(of.begin(), of.end()));
    Vector bound(of.size());
    for (std::size_t i = 0; i < of.size(); ++i) bound[i] = rounding.bound(i, precision_.roundoff);
    // Rounding of p'Ap: |p|' times the bounds, and that of the sum of its terms.
    energy_rounding_ = 0;
    for (std::size_t i = 0; i < of.size(); ++i)
      energy_rounding_ += std::abs(of[i]) * (bound[i] + precision_.sum * rounding.terms[i]);
    return tape_.add(times_matrix(of), std::move(bound),
                     [this, p](const Vector& slope) { pull_back(p, times_matrix(slope), 1); });
  }

  Place inner(Place a, Place b, long double rounding) {
    long double sum = 0;
    for (std::size_t i = 0; i < tape_[a].size(); ++i) sum += tape_[a][i] * tape_[b][i];
    return tape_.add({sum}, {rounding}, [this, a, b](const Vector& slope) {
      pull_back(a, tape_[b], slope[0]);
      pull_back(b, tape_[a], slope[0]);
    });
  }
  /// p'q of the last product.
  Place energy(Place p, Place q) { return inner(p, q, energy_rounding_); }
  Place dot(Place a, Place b) {
    long double terms = 0;
    for (std::size_t i = 0; i < tape_[a].size(); ++i) terms += std::abs(tape_[a][i] * tape_[b][i]);
    return inner(a, b, precision_.sum * terms);
  }

  /// x + sign c y: c is rounded, its product, and twice a sum of two such terms (x is updated along two directions at
  /// once).
  Place plus(Place x, Place c, Place y, int sign) {
    const long double factor = sign * tape_.number(c);
    Vector sum = tape_[x], rounding(sum.size());
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const long double change = factor * tape_[y][i];
      sum[i] += change;
      rounding[i] = precision_.roundoff * (3 * std::abs(change) + std::abs(sum[i]));
    }
    return tape_.add(std::move(sum), std::move(rounding), [this, x, c, y, sign](const Vector& slope) {
      pull_back(x, slope, 1);
      pull_back(y, slope, sign * tape_.number(c));
      long double along = 0;
      for (std::size_t i = 0; i < slope.size(); ++i) along += slope[i] * tape_[y][i];
      tape_.slope(c)[0] += sign * along;
    });
  }

  /// M^-1 r.
  Place solve(Place r) {
    if (!has_inverse_) return r;
    Vector z(tape_[r].size()), rounding(z.size());
    for (std::size_t i = 0; i < z.size(); ++i) {
      z[i] = tape_[inverse_][i] * tape_[r][i];
      rounding[i] = precision_.roundoff * std::abs(z[i]);
    }
    return tape_.add(std::move(z), std::move(rounding), [this, r](const Vector& slope) {
      for (std::size_t i = 0; i < slope.size(); ++i) {
        tape_.slope(r)[i] += tape_[inverse_][i] * slope[i];
        tape_.slope(inverse_)[i] += tape_[r][i] * slope[i];
      }
    });
  }

  Place quotient(Place a, Place b) {
    const long double value = tape_.number(a) / tape_.number(b);
    return tape_.add({value}, {unit_roundoff<double> * std::abs(value)}, [this, a, b](const Vector& slope) {
      tape_.slope(a)[0] += slope[0] / tape_.number(b);
      tape_.slope(b)[0] -= slope[0] * tape_.number(a) / (tape_.number(b) * tape_.number(b));
    });
  }

  /// a - b^2 c.
  Place less_square(Place a, Place b, Place c) {
    const long double square = tape_.number(b) * tape_.number(b) * tape_.number(c);
    const long double rounding = unit_roundoff<double> * (std::abs(tape_.number(a)) + 3 * std::abs(square));
    return tape_.add({tape_.number(a) - square}, {rounding}, [this, a, b, c](const Vector& slope) {
      tape_.slope(a)[0] += slope[0];
      tape_.slope(b)[0] -= 2 * tape_.number(b) * tape_.number(c) * slope[0];
      tape_.slope(c)[0] -= tape_.number(b) * tape_.number(b) * slope[0];
    });
  }

  /// Square root of rr / b'b.
  Place relative_norm(Place rr) {
    const long double value = std::sqrt(tape_.number(rr) / tape_.number(bb_));
    return tape_.add({value}, {3 * unit_roundoff<double> * value}, [this, rr, value](const Vector& slope) {
      tape_.slope(rr)[0] += slope[0] / (2 * value * tape_.number(bb_));
      tape_.slope(bb_)[0] -= slope[0] * value / (2 * tape_.number(bb_));
    });
  }

  void keep() {
    residuals_.push_back(relative_norm(dot(r_, r_)));
    iterates_.push_back(x_);
  }

  /// True residual, without rounding of its own.
  Place true_residual_of(int k) {
    const Place x = iterates_[k - 1];
    Vector r = times_matrix(tape_[x]);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = tape_[b_][i] - r[i];
    const Vector none(r.size(), 0);
    const Place true_r =
        tape_.add(std::move(r), none, [this, x](const Vector& slope) { pull_back(x, times_matrix(slope), -1); });
    return relative_norm(inner(true_r, true_r, 0));
  }

  const operators::CsrMatrix<double>& a_;
  const operators::BilinearForm* cells_;
  CgPrecision precision_;
  RoundingTape tape_;
  Place zero_, x_ = 0, b_ = 0, r_ = 0, bb_ = 0, inverse_ = 0;
  bool has_inverse_ = false;
  long double energy_rounding_ = 0;
  std::vector<Place> residuals_, iterates_;
};

}  // namespace femcg::tests
