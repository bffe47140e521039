#pragma once

#include <concepts>
#include <memory>

#include "operators/backend/passes/vector_kernels.hpp"
#include "operators/capabilities.hpp"
#include "operators/operator.hpp"

namespace femcg::operators {

/// Iterations of the single-reduction method in one persistent kernel that stays on the GPU, for systems so small that
/// launches would take longer than the work.
template <std::floating_point T>
class PersistentCg {
 public:
  virtual ~PersistentCg() = default;

  /// That many times w = A u and VectorKernels::advance. Of the scalars, CgScalars::count numbers per iteration, the
  /// second are of the first iteration to make, the first of the one before; `iterations` + 2 are there. u, p, s, x, r
  /// go in and come out; w is not used.
  virtual void iterate(std::int64_t iterations, SingleReduction<T>& vectors, const InverseDiagonal* inverse_diagonal,
                       Vector<T>& x, Vector<T>& r, Vector<double>& scalars) const = 0;
};

/// For which systems a persistent kernel is wanted: where it is expected to be faster than launches, or wherever there
/// can be one.
enum class PersistentFor { faster, possible };

/// The persistent kernel with an operator; null where there is none.
template <std::floating_point T>
std::unique_ptr<PersistentCg<T>> persistent_cg(const Operator<T>& a, PersistentFor systems) {
  const auto* with = dynamic_cast<const WithPersistentCg<T>*>(&a);
  return with != nullptr ? with->persistent_cg(systems) : nullptr;
}

}  // namespace femcg::operators
