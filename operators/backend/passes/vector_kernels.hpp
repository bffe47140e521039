#pragma once

#include <concepts>

#include "operators/backend/passes/inverse_diagonal.hpp"
#include "operators/backend/passes/step_lengths.hpp"
#include "operators/backend/passes/vector_ownership.hpp"
#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// The scalars of one iteration of CG, on the device of the loop.
struct CgScalars {
  static constexpr int count = 4;
  /// A view of `count` values of a vector from `place` on.
  CgScalars(Vector<double>& of, std::int64_t place)
      : rz(of, place), rr(of, place + 1), energy(of, place + 2), uw(of, place + 3) {}
  Scalar rz;      ///< r'M^-1 r
  Scalar rr;      ///< r'r
  Scalar energy;  ///< p'Ap
  Scalar uw;      ///< u'Au with u = M^-1 r, of the single-reduction method
};

/// step_lengths from scalars on the host; writes p'Ap to `now`.
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
  Vector<T> u;  ///< M^-1 r; empty if M = I, where r is used
  Vector<T> w;  ///< A u
  Vector<T> p, s;
};

/// Further vectors of the pipelined method, which needs no u: it recomputes u.
template <std::floating_point T>
struct Pipelined {
  Vector<T> m;  ///< M^-1 w; empty if M = I, where w is used
  Vector<T> n;  ///< A m
  Vector<T> z;  ///< A M^-1 s
};

/// Vector kernels that replace `direction` so that x is updated in every second iteration only, along both directions:
/// 9 words per unknown and iteration instead of 10. A second vector holds every other direction.
template <class Vectors>
class DelayedUpdate {
 public:
  using Scalars = typename CgScalarsOf<Vectors>::Type;
  virtual ~DelayedUpdate() = default;

  /// First iteration: beta = next.rz / now.rz; second = M^-1 r + beta p.
  virtual void delay_update(const Scalars& now, const Scalars& next, const Vectors& r,
                            const InverseDiagonal* inverse_diagonal, const Vectors& p, Vectors& second) const = 0;
  /// Second iteration, where `before` was `now` of the first: alpha of both, beta = next.rz / now.rz; x += alpha_before
  /// p + alpha_now second; p = M^-1 r + beta second.
  virtual void catch_up(const Scalars& before, const Scalars& now, const Scalars& next, const Vectors& r,
                        const InverseDiagonal* inverse_diagonal, const Vectors& second, Vectors& p,
                        Vectors& x) const = 0;
};

/// Vector kernels of classic preconditioned CG on a vector or, column by column, a multi-vector, with scalars that stay
/// on the device. M is diagonal: `inverse_diagonal` is M^-1, or null for M = I.
///
/// One iteration is apply, update, direction: three kernels, 10 words per unknown, and M^-1 twice. x is updated in
/// direction, which reads p anyway, or in every second iteration (DelayedUpdate).
///
/// Sums run over fixed blocks in a fixed order, and so do not depend on the number of threads.
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
  /// The kernels with a delayed update of x; null if there are none.
  virtual const DelayedUpdate<Vectors>* delayed_update() const { return nullptr; }
  /// result = a'b.
  virtual void dot(const Vectors& a, const Vectors& b, decltype(Scalars::rz)& result) const = 0;
};

/// Vector kernels of all CG variants on one vector. The single-reduction method has two kernels, apply and advance, of
/// 11 words per unknown (13 with a diagonal), the pipelined method 15 (16), and M^-1 once.
template <std::floating_point T>
class VectorKernels : public CgKernels<Vector<T>> {
 public:
  /// Updates the vectors after w = A u and uw = u'w: beta = rz / old_rz, energy = uw - beta^2 old_energy, alpha = rz /
  /// energy; p = u + beta p; s = w + beta s; x += alpha p; r -= alpha s; u = M^-1 r; new_rz = r'u; rr = r'r. If M = I,
  /// u is r. Chronopoulos & Gear 1989.
  virtual void advance(const CgScalars& before, CgScalars& now, SingleReduction<T>& vectors,
                       const InverseDiagonal* inverse_diagonal, Vector<T>& x, Vector<T>& r, CgScalars& next) const = 0;
  /// Updates the vectors after n = A m, with m = M^-1 w, w = A u and u = M^-1 r: beta, energy and alpha as in advance;
  /// p = u + beta p; s = w + beta s; z = n + beta z; x += alpha p; r -= alpha s; w -= alpha z; m = M^-1 w; new_rz =
  /// r'u; rr = r'r; new_uw = u'w. If M = I, m is w. Ghysels & Vanroose 2014, for a diagonal M.
  ///
  /// The sums over processes may be in flight when it returns, concurrently with the next product: the next call waits
  /// for the sums of `now`, and complete_sums for the last ones.
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

/// femcg's own vector kernels on a device.
template <std::floating_point T>
const VectorKernels<T>& vector_kernels(Device device);

/// The version for the GPU; throws std::runtime_error in a build without CUDA.
template <std::floating_point T>
const VectorKernels<T>& cuda_vector_kernels();

/// Steps of the Chebyshev iteration for A z = r, preconditioned by the diagonal D of A (Saad 2003, algorithm 12.1),
/// without its products: they make up a polynomial in D^-1 A. The vectors must be distinct. Words read and written per
/// unknown besides D^-1: first 3, next 6.
///
/// First step, from z = 0: d = b D^-1 r, z = d.
template <std::floating_point T>
void chebyshev_first(double b, const Vector<T>& r, const InverseDiagonal& inverse_diagonal, Vector<T>& d, Vector<T>& z);
/// Further step, with q = A z: d = a d + b D^-1 (r - q), z += d.
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
