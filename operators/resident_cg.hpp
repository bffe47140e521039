#pragma once

#include <concepts>

#include "operators/vector_kernels.hpp"

namespace femcg::operators {

/// Iterations of the single-reduction method inside one kernel that stays on the GPU, for systems so small that
/// launches would take longer than the work.
template <std::floating_point T>
class ResidentCg {
 public:
  virtual ~ResidentCg() = default;

  /// That many times w = A u and VectorKernels::advance. Of the scalars, CgScalars::count numbers an iteration, the
  /// second are of the first iteration to make, the first of the one before; `iterations` + 2 are there. u, p, s, x, r
  /// go in and come out; w is not used.
  virtual void iterate(std::int64_t iterations, SingleReduction<T>& vectors, const Vector<T>* inverse_diagonal,
                       Vector<T>& x, Vector<T>& r, Vector<double>& scalars) const = 0;
};

}  // namespace femcg::operators
