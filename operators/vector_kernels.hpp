#pragma once

#include <concepts>

#include "operators/vector.hpp"

namespace femcg::operators {

/// a / b, or 0 where b is not positive: alpha and beta of CG.
inline double step_length(double a, double b) { return b > 0 ? a / b : 0.0; }

/// The vector passes of preconditioned CG, with scalars that stay on the device. M is diagonal: `inverse_diagonal` is
/// M^-1, or null for M = I. One iteration is apply, update, direction: three passes, 11 words an unknown (13 with a
/// diagonal).
///
/// A step along a direction without energy, or after a residual of zero, has length zero: an iteration that is made
/// before it is known that the loop is over changes nothing.
///
/// Sums run over fixed blocks in a fixed order, so that they do not depend on the number of threads.
template <std::floating_point T>
class VectorKernels {
 public:
  virtual ~VectorKernels() = default;

  /// p = M^-1 r, rz = r'p, rr = r'r.
  virtual void start(const Vector<T>& r, const Vector<T>* inverse_diagonal, Vector<T>& p, Scalar& rz,
                     Scalar& rr) const = 0;
  /// alpha = rz / energy; x += alpha p; r -= alpha q; new_rz = r'M^-1 r; rr = r'r.
  virtual void update(const Scalar& rz, const Scalar& energy, const Vector<T>& p, const Vector<T>& q,
                      const Vector<T>* inverse_diagonal, Vector<T>& x, Vector<T>& r, Scalar& new_rz,
                      Scalar& rr) const = 0;
  /// beta = new_rz / rz; p = M^-1 r + beta p.
  virtual void direction(const Scalar& new_rz, const Scalar& rz, const Vector<T>& r, const Vector<T>* inverse_diagonal,
                         Vector<T>& p) const = 0;
  /// result = a'b.
  virtual void dot(const Vector<T>& a, const Vector<T>& b, Scalar& result) const = 0;
};

/// femcg's own passes on a device.
template <std::floating_point T>
const VectorKernels<T>& vector_kernels(Device device);

/// Those of the GPU; throws std::runtime_error in a build without CUDA.
template <std::floating_point T>
const VectorKernels<T>& cuda_vector_kernels();

}  // namespace femcg::operators
