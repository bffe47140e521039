#pragma once

#include <concepts>

#include "operators/backend/passes/inverse_diagonal.hpp"
#include "operators/backend/passes/step_lengths.hpp"
#include "operators/backend/passes/vector_ownership.hpp"
#include "operators/backend/vector.hpp"

namespace femcg::operators {

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

/// The same step_lengths from scalars on the host; `now` gets p'Ap.
inline StepLengths step_lengths(const CgScalars& before, CgScalars& now) {
  const StepLengths of = step_lengths(before.rz.value(), before.energy.value(), now.rz.value(), now.uw.value());
  *now.energy.data() = of.energy;
  return of;
}

/// The scalars of an iteration on `Vectors`: CgScalars for a Vector, CgMultiScalars for a multi-vector.
template <class Vectors>
struct CgScalarsOf;
template <class T>
struct CgScalarsOf<Vector<T>> {
  using Type = CgScalars;
};

/// Vectors of the single-reduction method in addition to x and r.
template <std::floating_point T>
struct SingleReduction {
  Vector<T> u;  ///< M^-1 r; empty with M = I, where r is taken
  Vector<T> w;  ///< A u
  Vector<T> p, s;
};

/// Vectors of the pipelined method in addition to these, except u, which it recomputes.
template <std::floating_point T>
struct Pipelined {
  Vector<T> m;  ///< M^-1 w; empty with M = I, where w is taken
  Vector<T> n;  ///< A m
  Vector<T> z;  ///< A M^-1 s
};

/// The vector kernels in the place of `direction` where two iterations share one pass over x: the second moves it along
/// both directions, so that the two have 9 words per unknown instead of 10. A second vector holds every other
/// direction.
template <class Vectors>
class DelayedUpdate {
 public:
  using Scalars = typename CgScalarsOf<Vectors>::Type;
  virtual ~DelayedUpdate() = default;

  /// beta = next.rz / now.rz; second = M^-1 r + beta p.
  virtual void delay_update(const Scalars& now, const Scalars& next, const Vectors& r,
                            const InverseDiagonal* inverse_diagonal, const Vectors& p, Vectors& second) const = 0;
  /// The iteration after it, `before` having been `now`: alpha of both; beta = next.rz / now.rz;
  /// x += alpha_before p + alpha_now second; p = M^-1 r + beta second.
  virtual void catch_up(const Scalars& before, const Scalars& now, const Scalars& next, const Vectors& r,
                        const InverseDiagonal* inverse_diagonal, const Vectors& second, Vectors& p,
                        Vectors& x) const = 0;
};

/// The vector kernels of classic preconditioned CG on a vector or, column by column, a multi-vector, with scalars that
/// stay on the device. M is diagonal: `inverse_diagonal` is M^-1, or null for M = I.
///
/// One iteration is apply, update, direction: three passes, 10 words per unknown, and M^-1 twice. x waits for
/// direction, which reads p anyway, or for every second iteration (DelayedUpdate).
///
/// Sums run over fixed blocks in a fixed order, so that they do not depend on the number of threads.
template <class Vectors>
class CgKernels {
 public:
  using Scalars = typename CgScalarsOf<Vectors>::Type;
  virtual ~CgKernels() = default;

  /// p = M^-1 r, rz = r'p, rr = r'r.
  virtual void start(const Vectors& r, const InverseDiagonal* inverse_diagonal, Vectors& p, Scalars& first) const = 0;
  /// alpha = rz / energy; r -= alpha q; new_rz = r'M^-1 r; rr = r'r.
  virtual void update(const Scalars& now, const Vectors& q, const InverseDiagonal* inverse_diagonal, Vectors& r,
                      Scalars& next) const = 0;
  /// alpha = rz / energy, beta = new_rz / rz; x += alpha p; p = M^-1 r + beta p.
  virtual void direction(const Scalars& now, const Scalars& next, const Vectors& r,
                         const InverseDiagonal* inverse_diagonal, Vectors& p, Vectors& x) const = 0;
  /// Null where two iterations share nothing.
  virtual const DelayedUpdate<Vectors>* delayed_update() const { return nullptr; }
  /// result = a'b.
  virtual void dot(const Vectors& a, const Vectors& b, decltype(Scalars::rz)& result) const = 0;
};

/// The kernels of all recurrences on one vector. The single-reduction method has two passes, apply and advance, of 11
/// words (13 with a diagonal), the pipelined one 15 (16), and M^-1 once.
template <std::floating_point T>
class VectorKernels : public CgKernels<Vector<T>> {
 public:
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
  /// Ownership of the local entries in the global vector, and global sums.
  virtual const VectorOwnership& ownership() const {
    static const VectorOwnership all;
    return all;
  }
};

/// femcg's own passes on a device.
template <std::floating_point T>
const VectorKernels<T>& vector_kernels(Device device);

/// The version for the GPU; throws std::runtime_error in a build without CUDA.
template <std::floating_point T>
const VectorKernels<T>& cuda_vector_kernels();

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

/// Versions for the GPU; they throw std::runtime_error in a build without CUDA.
template <std::floating_point T>
void cuda_chebyshev_first(double b, const Vector<T>& r, const InverseDiagonal& inverse_diagonal, Vector<T>& d,
                          Vector<T>& z);
template <std::floating_point T>
void cuda_chebyshev_next(double a, double b, const Vector<T>& r, const Vector<T>& q,
                         const InverseDiagonal& inverse_diagonal, Vector<T>& d, Vector<T>& z);

}  // namespace femcg::operators
