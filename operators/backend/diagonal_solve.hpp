#pragma once

#include <concepts>
#include <cstdint>

namespace femcg::operators {

/// M^-1 r, entry by entry, for M = I and for a diagonal M, in passes over the rows of vectors on the host.
template <std::floating_point T>
struct Identity {
  T operator()(std::int64_t, T r) const { return r; }
};
template <std::floating_point T>
struct Diagonal {
  const T* inverse;
  T operator()(std::int64_t i, T r) const { return inverse[i] * r; }
};

/// The pass with M^-1, or with the identity where there is none.
template <std::floating_point T, class Pass>
void with_preconditioner(const T* inverse_diagonal, const Pass& pass) {
  if (inverse_diagonal == nullptr)
    pass(Identity<T>{});
  else
    pass(Diagonal<T>{inverse_diagonal});
}

}  // namespace femcg::operators
