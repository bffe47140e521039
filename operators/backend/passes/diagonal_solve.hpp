#pragma once

#include <concepts>
#include <cstdint>

namespace femcg::operators {

/// M^-1 r entry by entry, for M = I or a diagonal M, in vector kernels of the host.
struct Identity {
  template <std::floating_point T>
  T operator()(std::int64_t, T r) const {
    return r;
  }
};
struct Diagonal {
  const float* inverse;
  template <std::floating_point T>
  T operator()(std::int64_t i, T r) const {
    return inverse[i] * r;
  }
};

/// Calls `pass` with M^-1, or with the identity if `inverse_diagonal` is null.
template <class Pass>
void with_preconditioner(const float* inverse_diagonal, const Pass& pass) {
  if (inverse_diagonal == nullptr)
    pass(Identity());
  else
    pass(Diagonal{inverse_diagonal});
}

}  // namespace femcg::operators
