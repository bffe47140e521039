#pragma once

// K_e of cells with few dofs, of any shape and diffusion, as
//   (K_e u)_a = sum over b of w_ab (u_a - u_b),   w_ab = -(K_e)_ab = w_ba,
// since K_e maps constants to zero: one value per pair of dofs, with a difference and two sums for each. A hexahedron
// of degree 1 has 28 pairs, against 48 factors of all points and 36 entries of K_e, a tetrahedron of degree 2 has 45
// against 84 and 55.

#include "operators/cellwise/matrix_free/cells/tensor_geometry.cuh"
#include "operators/forms/cell_factors.cuh"

namespace femcg::operators::cuda {

/// Values of a cell's pairs, `group` apart.
template <class T>
struct CellPairs {
  const T* numbers;
};

/// Pairs (0, 1), (0, 2), ..., (1, 2), ..., as [pairs][32 slots].
template <int dofs, class T>
__device__ CellPairs<T> pairs_of_slot(const T* all, std::int64_t slot) {
  constexpr int group = CellPatches::group;
  return {all + slot / group * (pairs_of(dofs) * group) + slot % group};
}

template <class T, int d>
struct TensorGeometry<T, d, 2, CellGeometry::pairs> {
  static constexpr int words = 0;
  const T* data;

  __device__ CellPairs<T> cell(const T*, std::int64_t slot) const { return pairs_of_slot<(1 << d)>(data, slot); }
};

/// y = K_e u.
template <class T, int dofs>
__device__ void multiply_pairs(const CellPairs<T>& cell, const T (&u)[dofs], T (&y)[dofs]) {
#pragma unroll
  for (int a = 0; a < dofs; ++a) y[a] = T(0);
  int pair = 0;
#pragma unroll
  for (int a = 0; a < dofs; ++a)
#pragma unroll
    for (int b = a + 1; b < dofs; ++b, ++pair) {
      const T flow = __ldcs(cell.numbers + pair * CellPatches::group) * (u[a] - u[b]);
      y[a] += flow;
      y[b] -= flow;
    }
}
/// u = K_e u.
template <class T, int dofs>
__device__ void multiply_pairs(const CellPairs<T>& cell, T (&u)[dofs]) {
  T y[dofs];
  multiply_pairs(cell, u, y);
#pragma unroll
  for (int a = 0; a < dofs; ++a) u[a] = y[a];
}

/// Computes the values of all slots, zero for empty ones. One thread a slot. `gradients`: of the basis,
/// [points][axes][dofs].
template <class T, int d, int dofs>
__global__ void pairs_kernel(FactorSource from, const double* gradients, const std::int32_t* cell_of_slot,
                             std::int64_t slots, T* numbers) {
  constexpr int pairs = pairs_of(dofs), group = CellPatches::group;
  const std::int64_t slot = cuda::thread_number();
  const std::int32_t cell = slot < slots ? cell_of_slot[slot] : -1;
  double sums[pairs] = {};
  for (int q = 0; cell >= 0 && q < from.points; ++q) {
    double factor[d * (d + 1) / 2], slopes[dofs][d];
    factors_at<d>(from, cell, q, factor);
#pragma unroll
    for (int a = 0; a < dofs; ++a)
#pragma unroll
      for (int k = 0; k < d; ++k) slopes[a][k] = __ldg(gradients + (q * d + k) * dofs + a);
    int pair = 0;
#pragma unroll
    for (int a = 0; a < dofs; ++a) {
      double flux[d];
#pragma unroll
      for (int k = 0; k < d; ++k) flux[k] = slopes[a][k];
      symmetric_times(factor, 1.0, flux);
#pragma unroll
      for (int b = a + 1; b < dofs; ++b, ++pair)
#pragma unroll
        for (int k = 0; k < d; ++k) sums[pair] -= flux[k] * slopes[b][k];
    }
  }
  if (slot >= slots) return;
  T* to = numbers + slot / group * (pairs * group) + slot % group;
#pragma unroll
  for (int pair = 0; pair < pairs; ++pair) to[pair * group] = static_cast<T>(sums[pair]);
}

}  // namespace femcg::operators::cuda
