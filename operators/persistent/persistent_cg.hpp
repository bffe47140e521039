#pragma once

#include <concepts>
#include <memory>

#include "operators/backend/passes/vector_kernels.hpp"
#include "operators/capabilities.hpp"
#include "operators/operator.hpp"

namespace femcg::operators {

/// Iterations of the single-reduction method in one persistent kernel, for systems so small that launches would take
/// longer than the work.
template <std::floating_point T>
class PersistentCg {
 public:
  virtual ~PersistentCg() = default;

  /// Runs w = A u and VectorKernels::advance `iterations` times. `scalars` holds iterations + 2 records of
  /// CgScalars::count values: the first is the previous iteration's, the second that of the first iteration to run. u,
  /// p, s, x, r are updated in place; w is not used.
  virtual void iterate(std::int64_t iterations, SingleReduction<T>& vectors, const InverseDiagonal* inverse_diagonal,
                       Vector<T>& x, Vector<T>& r, Vector<double>& scalars) const = 0;
};

/// Systems for which a persistent kernel is wanted: only where it is expected to be faster than launches, or wherever
/// it is possible.
enum class PersistentFor { faster, possible };

/// The persistent kernel of an operator; null where there is none.
template <std::floating_point T>
std::unique_ptr<PersistentCg<T>> persistent_cg(const Operator<T>& a, PersistentFor systems) {
  const auto* with = dynamic_cast<const WithPersistentCg<T>*>(&a);
  return with != nullptr ? with->persistent_cg(systems) : nullptr;
}

}  // namespace femcg::operators
