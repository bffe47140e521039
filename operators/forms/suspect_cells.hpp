#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "operators/forms/element_matrices.hpp"

namespace femcg::operators {

/// The least pivot of the Cholesky factorisation of K_e of degree 1, scaled by its diagonal, without the last node: 2/3
/// for a regular tetrahedron, near 0 for a sliver. `lower`: CellEvaluator::matrix.
template <class T>
constexpr T least_pivot(const T* lower, int nodes) {
  constexpr int most = 7;
  const int n = nodes - 1;
  T l[most * most] = {};
  T least = 1;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      T value = lower[i * (i + 1) / 2 + j] / std::sqrt(lower[i * (i + 3) / 2] * lower[j * (j + 3) / 2]);
      for (int k = 0; k < j; ++k) value -= l[i * most + k] * l[j * most + k];
      if (i == j) least = std::min(least, value);
      l[i * most + j] = i == j ? std::sqrt(std::max(value, T(1e-30))) : value / l[j * most + j];
    }
  return least;
}

/// True for a suspect cell: with two unknowns or more, and either each of its diagonal entries at least `part` of the
/// assembled one, or flat: least_pivot below `flat`. `unknown(i)` is that of node i, negative if constrained.
template <class T, class Unknown>
constexpr bool is_suspect(const T* lower, int nodes, const Unknown& unknown, const T* diagonal) {
  constexpr T part = 0.3, flat = 0.05;  // regular quadrilaterals have 0.25
  bool stands_out = true;
  int unknowns = 0;
  for (int i = 0; i < nodes; ++i)
    if (const std::int32_t number = unknown(i); number >= 0) {
      ++unknowns;
      stands_out = stands_out && lower[i * (i + 3) / 2] >= part * diagonal[number];
    }
  return unknowns > 1 && (stands_out || least_pivot(lower, nodes) < flat);
}

/// The suspect cells of a form of degree 1, ascending. Its element matrices and the diagonal of A are on one device.
std::vector<std::int32_t> suspect_cells(const BilinearForm& form, const ElementMatrices& matrices,
                                        const Vector<double>& diagonal);
std::vector<std::int32_t> cuda_suspect_cells(const ElementMatrices& matrices, const Vector<double>& diagonal);

}  // namespace femcg::operators
