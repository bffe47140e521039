#pragma once

#include <concepts>

#include "operators/backend/passes/inverse_diagonal.hpp"
#include "operators/backend/passes/vector_share.hpp"
#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// a / b, or 0 where b is not positive: alpha and beta of CG.
inline double step_length(double a, double b) { return b > 0 ? a / b : 0.0; }

/// The numbers of one iteration of CG, on the device of the loop.
struct CgScalars {
  static constexpr int count = 4;
  /// `count` numbers of a vector from a place on.
  CgScalars(Vector<double>& of, std::int64_t place)
      : rz(of, place), rr(of, place + 1), energy(of, place + 2), uw(of, place + 3) {}
  Scalar rz;      ///< r'M^-1 r
  Scalar rr;      ///< r'r
  Scalar energy;  ///< p'Ap
  Scalar uw;      ///< u'Au with u = M^-1 r, of the single-reduction method
};

/// What the single-reduction method keeps beside x and r.
template <std::floating_point T>
struct SingleReduction {
  Vector<T> u;  ///< M^-1 r; empty with M = I, where r is taken
  Vector<T> w;  ///< A u
  Vector<T> p, s;
};

/// What the pipelined method keeps beside these, but u, which it makes anew.
template <std::floating_point T>
struct Pipelined {
  Vector<T> m;  ///< M^-1 w; empty with M = I, where w is taken
  Vector<T> n;  ///< A m
  Vector<T> z;  ///< A M^-1 s
};

/// The passes in the place of `direction` where two iterations share one of x: it moves along both directions at once
/// in the second, so that the two have 9 words per unknown instead of 10. A second vector holds every other direction.
template <std::floating_point T>
class DeferredUpdate {
 public:
  virtual ~DeferredUpdate() = default;

  /// beta = next.rz / now.rz; second = M^-1 r + beta p.
  virtual void defer(const CgScalars& now, const CgScalars& next, const Vector<T>& r,
                     const InverseDiagonal* inverse_diagonal, const Vector<T>& p, Vector<T>& second) const = 0;
  /// The iteration after it, `before` having been `now`: alpha of both; beta = next.rz / now.rz;
  /// x += alpha_before p + alpha_now second; p = M^-1 r + beta second.
  virtual void catch_up(const CgScalars& before, const CgScalars& now, const CgScalars& next, const Vector<T>& r,
                        const InverseDiagonal* inverse_diagonal, const Vector<T>& second, Vector<T>& p,
                        Vector<T>& x) const = 0;
};

/// The vector passes of preconditioned CG, with scalars that stay on the device. M is diagonal: `inverse_diagonal` is
/// M^-1, or null for M = I.
///
/// One iteration is apply, update, direction: three passes, 10 words per unknown, and M^-1 twice. x waits for
/// direction, which reads p anyway, or for every second iteration (DeferredUpdate). The single-reduction method has
/// two passes, apply and advance, of 11 words (13 with a diagonal), the pipelined one 15 (16), and M^-1 once.
///
/// A step along a direction without energy, or after a residual of zero, has length zero: an iteration that is made
/// before it is known that the loop is over changes nothing.
///
/// Sums run over fixed blocks in a fixed order, so that they do not depend on the number of threads.
template <std::floating_point T>
class VectorOperations {
 public:
  virtual ~VectorOperations() = default;

  /// p = M^-1 r, rz = r'p, rr = r'r.
  virtual void start(const Vector<T>& r, const InverseDiagonal* inverse_diagonal, Vector<T>& p,
                     CgScalars& first) const = 0;
  /// alpha = rz / energy; r -= alpha q; new_rz = r'M^-1 r; rr = r'r.
  virtual void update(const CgScalars& now, const Vector<T>& q, const InverseDiagonal* inverse_diagonal, Vector<T>& r,
                      CgScalars& next) const = 0;
  /// alpha = rz / energy, beta = new_rz / rz; x += alpha p; p = M^-1 r + beta p.
  virtual void direction(const CgScalars& now, const CgScalars& next, const Vector<T>& r,
                         const InverseDiagonal* inverse_diagonal, Vector<T>& p, Vector<T>& x) const = 0;
  /// Null where two iterations share nothing.
  virtual const DeferredUpdate<T>* deferred() const { return nullptr; }
  /// The vectors after w = A u and uw = u'w: beta = rz / old_rz, energy = uw - beta^2 old_energy, alpha = rz / energy;
  /// p = u + beta p; s = w + beta s; x += alpha p; r -= alpha s; u = M^-1 r; new_rz = r'u; rr = r'r. With M = I, u is
  /// r. Chronopoulos & Gear 1989.
  virtual void advance(const CgScalars& before, CgScalars& now, SingleReduction<T>& vectors,
                       const InverseDiagonal* inverse_diagonal, Vector<T>& x, Vector<T>& r, CgScalars& next) const = 0;
  /// The vectors after n = A m, with m = M^-1 w, w = A u and u = M^-1 r: beta, energy and alpha as in advance;
  /// p = u + beta p; s = w + beta s; z = n + beta z; x += alpha p; r -= alpha s; w -= alpha z; m = M^-1 w;
  /// new_rz = r'u; rr = r'r; new_uw = u'w. With M = I, m is w. Ghysels & Vanroose 2014, for a diagonal M.
  ///
  /// Sums over processes may be under way when it ends, beside the product that follows: the next such pass waits for
  /// those of `now`, and complete_sums for those of the last.
  virtual void advance_pipelined(const CgScalars& before, CgScalars& now, SingleReduction<T>& vectors,
                                 Pipelined<T>& ahead, const InverseDiagonal* inverse_diagonal, Vector<T>& x,
                                 Vector<T>& r, CgScalars& next) const = 0;
  virtual void complete_sums(CgScalars&) const {}
  /// result = a'b.
  virtual void dot(const Vector<T>& a, const Vector<T>& b, Scalar& result) const = 0;
  /// What the vectors are of those of a whole system.
  virtual const VectorShare& share() const {
    static const VectorShare all;
    return all;
  }
};

/// femcg's own passes on a device.
template <std::floating_point T>
const VectorOperations<T>& vector_operations(Device device);

/// Those of the GPU; throws std::runtime_error in a build without CUDA.
template <std::floating_point T>
const VectorOperations<T>& cuda_vector_operations();

/// The steps of the Chebyshev iteration for A z = r, preconditioned by the diagonal D of A (Saad 2003, algorithm 12.1),
/// but for its products: what a polynomial in D^-1 A consists of. No two of the vectors may be one. Words read and
/// written per unknown beside D^-1: first 3, next 6.
///
/// The first, from z = 0: d = b D^-1 r, z = d.
template <std::floating_point T>
void chebyshev_first(double b, const Vector<T>& r, const InverseDiagonal& inverse_diagonal, Vector<T>& d, Vector<T>& z);
/// One more, with q = A z: d = a d + b D^-1 (r - q), z += d.
template <std::floating_point T>
void chebyshev_next(double a, double b, const Vector<T>& r, const Vector<T>& q, const InverseDiagonal& inverse_diagonal,
                    Vector<T>& d, Vector<T>& z);

/// Those of the GPU; they throw std::runtime_error in a build without CUDA.
template <std::floating_point T>
void cuda_chebyshev_first(double b, const Vector<T>& r, const InverseDiagonal& inverse_diagonal, Vector<T>& d,
                          Vector<T>& z);
template <std::floating_point T>
void cuda_chebyshev_next(double a, double b, const Vector<T>& r, const Vector<T>& q,
                         const InverseDiagonal& inverse_diagonal, Vector<T>& d, Vector<T>& z);

}  // namespace femcg::operators
