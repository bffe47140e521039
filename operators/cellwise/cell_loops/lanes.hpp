#pragma once

#include <concepts>
#include <cstdint>

#include "mesh/base/vector_register.hpp"

namespace femcg::operators {

/// A value for each of the cells that the host processes together: a register.
template <std::floating_point T>
struct LanesOf {
  using type [[gnu::vector_size(mesh::register_bytes)]] = T;
};
template <std::floating_point T>
using Lanes = typename LanesOf<T>::type;

/// to[i] = from[places[i]], register by register and without gather instructions (pick_four).
template <std::floating_point T>
[[gnu::always_inline]] inline void gather_lanes(const T* __restrict__ from,
                                                const std::uint16_t* __restrict__ local_indices, int registers,
                                                Lanes<T>* __restrict__ to) {
  constexpr int lanes = sizeof(Lanes<T>) / sizeof(T);
  for (int i = 0; i < registers; ++i, local_indices += lanes) {
    Lanes<T> some;
    for (int l = 0; l < lanes; ++l) some[l] = from[local_indices[l]];
    to[i] = some;
  }
}

/// to[places[i]] += from[i].
template <std::floating_point T>
[[gnu::always_inline]] inline void scatter_add_lanes(const Lanes<T>* __restrict__ from,
                                                     const std::uint16_t* __restrict__ local_indices, int registers,
                                                     T* __restrict__ to) {
  constexpr int lanes = sizeof(Lanes<T>) / sizeof(T);
  for (int i = 0; i < registers; ++i, local_indices += lanes) {
    const T* some = reinterpret_cast<const T*>(from + i);
    for (int l = 0; l < lanes; ++l) to[local_indices[l]] += some[l];
  }
}

}  // namespace femcg::operators
