#pragma once

#include "operators/cellwise/cell_loops/lanes.hpp"

namespace femcg::operators {

/// g = F g for a symmetric D x D matrix, given by its upper triangle row by row (CellEvaluator::factors).
template <int D, std::floating_point T>
[[gnu::always_inline]] inline void multiply_by_factor(const Lanes<T>* f, Lanes<T>* g) {
  const Lanes<T> g0 = g[0], g1 = g[1];
  if constexpr (D == 2) {
    g[0] = f[0] * g0 + f[1] * g1;
    g[1] = f[1] * g0 + f[2] * g1;
  } else {
    const Lanes<T> g2 = g[2];
    g[0] = f[0] * g0 + f[1] * g1 + f[2] * g2;
    g[1] = f[1] * g0 + f[3] * g1 + f[4] * g2;
    g[2] = f[2] * g0 + f[4] * g1 + f[5] * g2;
  }
}

}  // namespace femcg::operators
