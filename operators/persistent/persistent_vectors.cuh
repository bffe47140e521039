#pragma once

#include "operators/backend/passes/vector_kernels.hpp"

namespace femcg::operators::cuda {

/// Vectors of the single-reduction method as pointers, for the persistent kernels.
template <class T>
struct PersistentVectors {
  const float* inverse_diagonal;  ///< null for M = I, where u is r
  T *u, *p, *s, *x, *r;
};

template <class T>
PersistentVectors<T> persistent_vectors(SingleReduction<T>& vectors, const InverseDiagonal* inverse_diagonal,
                                        Vector<T>& x, Vector<T>& r) {
  return {inverse_diagonal != nullptr ? inverse_diagonal->data() : nullptr,
          inverse_diagonal != nullptr ? vectors.u.data() : r.data(),
          vectors.p.data(),
          vectors.s.data(),
          x.data(),
          r.data()};
}

}  // namespace femcg::operators::cuda
