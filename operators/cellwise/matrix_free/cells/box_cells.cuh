#pragma once

// K_e of quadrilaterals and hexahedra whose edges are orthogonal, by the mass and stiffness matrices M and S of a line:
//   K_e = c_x M (x) S + c_y S (x) M,                                  the factor of x on the right
//   K_e = c_x M (x) M (x) S + c_y M (x) S (x) M + c_z S (x) M (x) M,  c = kappa |J| / |edge|^2 along each axis
// (Lynch, Rice & Thomas 1964). 4 n^3 multiply-adds a quadrilateral and 7 n^4 a hexahedron, where sum factorisation with
// any D takes 8 n^3 and 12 n^4; and no values at Gauss points.

#include "operators/cellwise/matrix_free/cells/tensor_geometry.cuh"

namespace femcg::operators::cuda {

/// M_ab = sum_q w_q phi_a phi_b and S_ab = sum_q w_q phi_a' phi_b' on the unit line. A kernel argument, in constant
/// memory, which multiply-adds read directly.
template <class T, int n>
struct LineMatrices {
  T mass[n][n], stiffness[n][n];
};

/// Returns sum_b m[a][b] v[b * step].
template <int step, class T, int n>
__device__ T row_times(const T (&m)[n][n], int a, const T* v) {
  T sum = m[a][0] * v[0];
#pragma unroll
  for (int b = 1; b < n; ++b) sum += m[a][b] * v[b * step];
  return sum;
}

/// u = M u and with_stiffness = c S u along the rows of a square.
template <class T, int n>
__device__ void along_rows(const LineMatrices<T, n>& line, T c, T (&u)[n * n], T (&with_stiffness)[n * n]) {
#pragma unroll
  for (int j = 0; j < n; ++j) {
    T from[n];
#pragma unroll
    for (int i = 0; i < n; ++i) from[i] = u[j * n + i];
#pragma unroll
    for (int i = 0; i < n; ++i) {
      u[j * n + i] = row_times<1>(line.mass, i, from);
      with_stiffness[j * n + i] = c * row_times<1>(line.stiffness, i, from);
    }
  }
}

/// u = K_e u.
template <class T, int n>
__device__ void multiply_box(const LineMatrices<T, n>& line, const Box<T, 2>& box, T (&u)[n * n]) {
  T of_x[n * n];
  along_rows<T, n>(line, box.along[0], u, of_x);
#pragma unroll
  for (int i = 0; i < n; ++i) {
    T from[n];
#pragma unroll
    for (int j = 0; j < n; ++j) from[j] = u[j * n + i];
#pragma unroll
    for (int j = 0; j < n; ++j)
      u[j * n + i] = row_times<n>(line.mass, j, of_x + i) + box.along[1] * row_times<1>(line.stiffness, j, from);
  }
}

/// The same plane by plane, with separate sums for M and for S along z.
template <class T, int n>
__device__ void multiply_box(const LineMatrices<T, n>& line, const Box<T, 3>& box, T (&u)[n * n * n]) {
  constexpr int plane = n * n;
  T sum[n * plane];
#pragma unroll
  for (int k = 0; k < n; ++k) {
    T of_z[plane], of_x[plane];
#pragma unroll
    for (int p = 0; p < plane; ++p) of_z[p] = u[k * plane + p];
    along_rows<T, n>(line, box.along[0], of_z, of_x);
#pragma unroll
    for (int i = 0; i < n; ++i) {
      T from[n];
#pragma unroll
      for (int j = 0; j < n; ++j) from[j] = of_z[j * n + i];
#pragma unroll
      for (int j = 0; j < n; ++j) {
        const T with_mass = row_times<n>(line.mass, j, of_x + i) + box.along[1] * row_times<1>(line.stiffness, j, from);
        const T with_stiffness = box.along[2] * row_times<1>(line.mass, j, from);
#pragma unroll
        for (int to = 0; to < n; ++to) {
          T& at = sum[to * plane + j * n + i];
          if (k == 0) at = T(0);
          at += line.mass[to][k] * with_mass + line.stiffness[to][k] * with_stiffness;
        }
      }
    }
  }
#pragma unroll
  for (int p = 0; p < n * plane; ++p) u[p] = sum[p];
}

}  // namespace femcg::operators::cuda
