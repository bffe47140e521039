#pragma once

// D_q times a gradient on quadrilaterals and hexahedra, D_q = w_q |J| kappa J^-1 J^-T, from as few values per cell as
// possible. A geometry has
//   words                         values per cell that are prefetched; 0 if it loads them itself
//   cell(numbers, slot)           a thread's data of its cell
//   line_of(cell, s, t)           for a hexahedron, data of the line along x at the points s and t of y and z
//   line(numbers, slot, s, t)     the same for a thread that has only that line of the cell
//   apply(cell or line, q, gradient)   gradient = D_q gradient
// Boxes need no D_q: their geometry has the first two only.

#include "operators/backend/cuda/reciprocal.cuh"
#include "operators/backend/launch.cuh"
#include "operators/cellwise/cell_loops/cell_patches.hpp"
#include "operators/cellwise/matrix_free/cells/matrix_free_cuda.hpp"
#include "operators/forms/cell_factors.cuh"

namespace femcg::operators::cuda {

/// Indices of a Gauss point along the axes.
struct PointIndex {
  int x, y, z;
};

/// 1 / |J|. Without a branch several points' values are live in registers: on an H200 an iteration is up to 14% faster,
/// or, if registers run out, up to 9% slower.
template <int d, int n, class T>
__device__ T reciprocal(T determinant) {
  constexpr bool quick = d == 2 ? n != 4 : n <= 4;
  return quick ? quick_reciprocal(determinant) : rounded_reciprocal(determinant);
}

/// Loads one of a cell's values; with an evict-first hint unless values are stored `once` per congruence class.
template <class T>
__device__ T load_number(const T* at, bool once) {
  return once ? __ldg(at) : __ldcs(at);
}

/// g = scale D g, with the upper triangle of D row by row.
template <class T>
__device__ void symmetric_times(const T (&d)[3], T scale, T (&g)[2]) {
  const T x = scale * g[0], y = scale * g[1];
  g[0] = d[0] * x + d[1] * y;
  g[1] = d[1] * x + d[2] * y;
}
template <class T>
__device__ void symmetric_times(const T (&d)[6], T scale, T (&g)[3]) {
  const T x = scale * g[0], y = scale * g[1], z = scale * g[2];
  g[0] = d[0] * x + d[1] * y + d[2] * z;
  g[1] = d[1] * x + d[3] * y + d[4] * z;
  g[2] = d[2] * x + d[4] * y + d[5] * z;
}

template <class T, int d, int n, CellGeometry kind>
struct TensorGeometry;

/// A cell whose D / w is diagonal: kappa |J| / |edge|^2 of each axis.
template <class T, int d>
struct Box {
  T along[d];
};

/// Two values loaded in one access.
template <class T>
using NumberPair = std::conditional_t<sizeof(T) == 8, double2, float2>;

/// D at a point of a cell in the cell-major layout (cuda_cell_factors), where adjacent points are contiguous.
template <class T>
__device__ void load_factor(const T* of_cell, int points, int point, T (&factor)[6]) {
#pragma unroll
  for (int e = 0; e < 6; e += 2) {
    const auto pair = __ldcs(reinterpret_cast<const NumberPair<T>*>(of_cell) + (e / 2 * points + point));
    factor[e] = pair.x;
    factor[e + 1] = pair.y;
  }
}

/// Factors of all points: interleaved for one thread a cell, [points][entries][32 slots]; cell-major for several
/// threads a cell.
template <class T, int d, int n>
struct TensorGeometry<T, d, n, CellGeometry::stored> {
  static constexpr int entries = d * (d + 1) / 2, points = d == 2 ? n * n : n * n * n, words = 0;
  static constexpr bool interleaved = d == 2 || n <= 3;
  const T* data;

  __device__ const T* cell(const T*, std::int64_t slot) const {
    constexpr int group = CellPatches::group;
    return data + slot / group * (points * entries * group) + slot % group;
  }
  __device__ const T* line(const T*, std::int64_t slot, int, int) const { return data + slot * (points * entries); }
  __device__ const T* line_of(const T* cell, int, int) const { return cell; }
  __device__ void apply(const T* from, const PointIndex& q, T (&gradient)[d]) const {
    const int point = (q.z * n + q.y) * n + q.x;
    T factor[entries];
    if constexpr (interleaved) {
#pragma unroll
      for (int e = 0; e < entries; ++e) factor[e] = __ldcs(from + (point * entries + e) * CellPatches::group);
    } else {
      load_factor(from, points, point, factor);
    }
    symmetric_times(factor, T(1), gradient);
  }
};

/// D / w of each cell.
template <class T, int d, int n>
struct TensorGeometry<T, d, n, CellGeometry::affine> {
  static constexpr int entries = d * (d + 1) / 2, words = entries;
  const T* data;
  const std::uint16_t* classes;  ///< of slots, if data are stored per congruence class; else null
  T weights[n];

  struct Line {
    T factor[entries];
    T weight;  ///< of the line
  };
  __device__ Line line_of(const Line& cell, int s, int t) const {
    Line of = cell;
    of.weight = weights[s] * weights[t];
    return of;
  }
  __device__ Line cell(const T* numbers, std::int64_t) const { return line(numbers, 0, -1, -1); }
  __device__ Line line(const T* numbers, std::int64_t, int s, int t) const {
    Line of{{}, s < 0 ? T(1) : weights[s] * weights[t]};
#pragma unroll
    for (int e = 0; e < entries; ++e) of.factor[e] = numbers[e];
    return of;
  }
  __device__ void apply(const Line& of, const PointIndex& q, T (&gradient)[d]) const {
    symmetric_times(of.factor, d == 2 ? weights[q.x] * weights[q.y] : of.weight * weights[q.x], gradient);
  }
};

/// The diagonal of D / w of each cell, for products along lines (box_cells.cuh).
template <class T, int d, int n>
struct TensorGeometry<T, d, n, CellGeometry::boxes> {
  static constexpr int words = d;
  const T* data;
  const std::uint16_t* classes;  ///< of slots, if data are stored per congruence class; else null

  __device__ Box<T, d> cell(const T* numbers, std::int64_t) const {
    Box<T, d> of;
#pragma unroll
    for (int axis = 0; axis < d; ++axis) of.along[axis] = numbers[axis];
    return of;
  }
};

/// X = X_0 + a x + b y + c x y on the unit square: a, b, c and kappa.
template <class T, int n>
struct TensorGeometry<T, 2, n, CellGeometry::vertices> {
  static constexpr int words = straight_words<2>;
  const T* data;
  const std::uint16_t* classes;  ///< of slots, if data are stored per congruence class; else null
  T points[n], weights[n];

  struct Cell {
    T a[2], b[2], c[2], kappa;
  };
  __device__ Cell cell(const T* numbers, std::int64_t) const {
    return {{numbers[0], numbers[1]}, {numbers[2], numbers[3]}, {numbers[4], numbers[5]}, numbers[6]};
  }
  __device__ void apply(const Cell& of, const PointIndex& q, T (&gradient)[2]) const {
    T jx[2], jy[2];  // dX/dx, dX/dy
#pragma unroll
    for (int axis = 0; axis < 2; ++axis) {
      jx[axis] = of.a[axis] + points[q.y] * of.c[axis];
      jy[axis] = of.b[axis] + points[q.x] * of.c[axis];
    }
    const T scale = weights[q.x] * weights[q.y] * of.kappa * reciprocal<2, n>(jx[0] * jy[1] - jx[1] * jy[0]);
    const T factor[3] = {jy[0] * jy[0] + jy[1] * jy[1], -(jx[0] * jy[0] + jx[1] * jy[1]),
                         jx[0] * jx[0] + jx[1] * jx[1]};
    symmetric_times(factor, scale, gradient);
  }
};

/// X = X_0 + sum of seven vectors times x, y, x y, z, x z, y z, x y z on the unit cube, in this order, and kappa. Along
/// a line in x dX/dx is constant, dX/dy and dX/dz are linear.
template <class T, int n>
struct TensorGeometry<T, 3, n, CellGeometry::vertices> {
  static constexpr int words = straight_words<3>;
  const T* data;
  const std::uint16_t* classes;  ///< of slots, if data are stored per congruence class; else null
  T points[n], weights[n];

  struct Cell {
    T words[straight_words<3>];
  };
  struct Line {
    T jx[3], jy[2][3], jz[2][3], scale;  ///< values at x = 0, and their change to x = 1
  };
  __device__ Cell cell(const T* numbers, std::int64_t) const {
    Cell of;
#pragma unroll
    for (int k = 0; k < straight_words<3>; ++k) of.words[k] = numbers[k];
    return of;
  }
  __device__ Line line_of(const Cell& cell, int s, int t) const { return line_of(cell.words, s, t); }
  __device__ Line line(const T* numbers, std::int64_t, int s, int t) const { return line_of(numbers, s, t); }
  template <class Words>
  __device__ Line line_of(const Words& c, int s, int t) const {
    const T y = points[s], z = points[t];
    Line of;
    of.scale = c[21] * weights[s] * weights[t];
#pragma unroll
    for (int a = 0; a < 3; ++a) {
      of.jx[a] = c[a] + y * c[6 + a] + z * (c[12 + a] + y * c[18 + a]);
      of.jy[0][a] = c[3 + a] + z * c[15 + a];
      of.jy[1][a] = c[6 + a] + z * c[18 + a];
      of.jz[0][a] = c[9 + a] + y * c[15 + a];
      of.jz[1][a] = c[12 + a] + y * c[18 + a];
    }
    return of;
  }
  __device__ void apply(const Line& of, const PointIndex& q, T (&gradient)[3]) const {
    const T x = points[q.x];
    T jy[3], jz[3], rows[3][3];  // rows of |J| J^-1: cross products of the columns of J
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      jy[axis] = of.jy[0][axis] + x * of.jy[1][axis];
      jz[axis] = of.jz[0][axis] + x * of.jz[1][axis];
    }
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      const int next = (axis + 1) % 3, last = (axis + 2) % 3;
      rows[0][axis] = jy[next] * jz[last] - jy[last] * jz[next];
      rows[1][axis] = jz[next] * of.jx[last] - jz[last] * of.jx[next];
      rows[2][axis] = of.jx[next] * jy[last] - of.jx[last] * jy[next];
    }
    const T determinant = of.jx[0] * rows[0][0] + of.jx[1] * rows[0][1] + of.jx[2] * rows[0][2];
    const T scale = of.scale * weights[q.x] * reciprocal<3, n>(determinant);
    T in_space[3];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
      in_space[axis] =
          scale * (rows[0][axis] * gradient[0] + rows[1][axis] * gradient[1] + rows[2][axis] * gradient[2]);
#pragma unroll
    for (int k = 0; k < 3; ++k)
      gradient[k] = rows[k][0] * in_space[0] + rows[k][1] * in_space[1] + rows[k][2] * in_space[2];
  }
};

/// Extracts the diagonals of D / w of all slots from upper triangles in the same layout. One thread a slot, in a
/// grid-stride loop.
template <class T, int d>
__global__ void diagonals_kernel(const T* whole, std::int64_t slots, bool interleaved, T* diagonals) {
  constexpr int entries = d * (d + 1) / 2, group = CellPatches::group;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t slot = cuda::thread_number(); slot < slots; slot += stride)
    for (int axis = 0; axis < d; ++axis) {
      const int entry = axis * d - axis * (axis - 1) / 2;
      if (interleaved)
        diagonals[(slot / group * d + axis) * group + slot % group] =
            whole[(slot / group * entries + entry) * group + slot % group];
      else
        diagonals[slot * d + axis] = whole[slot * entries + entry];
    }
}

/// Computes the data of straight-sided cells as above: interleaved as [words][32 slots], or slot by slot. Differences
/// of coordinates are in double precision. One thread a slot, in a grid-stride loop.
template <class T, int d>
__global__ void straight_cells_kernel(const std::int32_t* cell_of_slot, std::int64_t slots, bool interleaved,
                                      NodesOfCells vertices_of, const double* diffusion,
                                      std::int64_t diffusion_per_cell, T* words) {
  constexpr int vertices = 1 << d, count = straight_words<d>, group = CellPatches::group;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t slot = cuda::thread_number(); slot < slots; slot += stride) {
    T* to = interleaved ? words + slot / group * (count * group) + slot % group : words + slot * count;
    const int step = interleaved ? group : 1;
    const std::int32_t cell = cell_of_slot[slot];
    double at[vertices][d] = {};
    if (cell >= 0)
      for (int v = 0; v < vertices; ++v) vertices_of(cell, v, at[v]);
    for (int axis = 0; axis < d; ++axis) {
      double c[vertices];
      for (int v = 0; v < vertices; ++v) c[v] = at[v][axis];
      // From values at the vertices to coefficients of 1, x, y, x y, ...: differences along one axis after the other.
      for (int bit = 1; bit < vertices; bit *= 2)
        for (int v = 0; v < vertices; ++v)
          if (v & bit) c[v] -= c[v ^ bit];
      if constexpr (d == 2) {
        to[axis * step] = static_cast<T>(c[1]);
        to[(2 + axis) * step] = static_cast<T>(c[2]);
        to[(4 + axis) * step] = static_cast<T>(c[3]);
      } else {
        for (int v = 1; v < vertices; ++v) to[((v - 1) * d + axis) * step] = static_cast<T>(c[v]);
      }
    }
    to[(count - 1) * step] = static_cast<T>(cell >= 0 ? diffusion[cell * diffusion_per_cell] : 0.0);
  }
}

}  // namespace femcg::operators::cuda
