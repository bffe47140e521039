#pragma once

// Products of a thread block with the quadrilaterals or hexahedra of one patch where the number m of Gauss points per
// direction differs from the number n of nodes. m is known at run time only; factors are stored at all points.
//
// Sum factorisation (Orszag 1980) directly from the nodes, by tables of the basis and of its derivatives at the points
// of a line: derivatives of the polynomials on the Gauss points, as in tensor_cells.cuh, cost more if m exceeds n.
// Values at all points are never stored. Along the last axis a thread holds a line of nodes, interpolates to one point
// after the other, multiplies by D_q, and adds the result to another line of nodes:
//   quadrilaterals   4 m n (n + m) + 4 m^2 multiply-adds a cell
//   hexahedra        4 m n^3 + 6 m^2 n^2 + 6 m^3 n + 9 m^3

#include <algorithm>
#include <type_traits>

#include "operators/cellwise/cell_loops/cell_patches.cuh"
#include "operators/cellwise/matrix_free/cells/tensor_geometry.cuh"

namespace femcg::operators::cuda {

/// The tables along a line. A kernel argument, in constant memory. All threads of a warp read the same row.
template <class T, int n>
struct BasisTables {
  static constexpr int most_points = 16;  ///< the limit of mesh::cell_quadrature

  int points;                       ///< m
  T interpolate[most_points][n];    ///< basis a at Gauss point q: [q][a]
  T differentiate[most_points][n];  ///< its derivative there
};

template <class T, int n>
__device__ T times_line(const T (&row)[n], const T (&line)[n]) {
  T sum = row[0] * line[0];
#pragma unroll
  for (int a = 1; a < n; ++a) sum += row[a] * line[a];
  return sum;
}
/// line += value row.
template <class T, int n>
__device__ void add_to_line(const T (&row)[n], T value, T (&line)[n]) {
#pragma unroll
  for (int a = 0; a < n; ++a) line[a] += row[a] * value;
}

/// One thread per quadrilateral, its nodes in registers.
template <class T, int n>
struct QuadrilateralCellsAnyPoints {
  static constexpr int threads = 128, dofs = n * n;
  static constexpr int blocks_per_multiprocessor = n == 2 || sizeof(T) * n <= 12 ? 6 : sizeof(T) * n <= 24 ? 4 : 3;

  BasisTables<T, n> tables;
  const T* factors;  ///< interleaved, m^2 points

  /// Multiply-adds per cell.
  static std::int64_t operations(std::int64_t m) { return 4 * m * n * (n + m) + 4 * m * m; }

  __device__ void operator()(const Patches& all, const CellPatch& patch, const T* x, T* y, T*) const {
    wave_by_wave<threads, dofs>(
        all, patch, x, y, [this](std::int64_t slot, const T(&x_e)[dofs], T(&y_e)[dofs]) { multiply(slot, x_e, y_e); });
  }

 private:
  __device__ void multiply(std::int64_t slot, const T (&x_e)[dofs], T (&y_e)[dofs]) const {
    constexpr int group = CellPatches::group, entries = 3;
    constexpr int together = sizeof(T) * n <= 20 ? 4 : 2;  // points whose factors are in flight; more would spill
    const int m = tables.points;
    const T* from = factors + slot / group * (std::int64_t{entries} * m * m * group) + slot % group;
#pragma unroll
    for (int a = 0; a < dofs; ++a) y_e[a] = T(0);
#pragma unroll 1
    for (int j = 0; j < m; ++j) {
      // u and du/dy at point j of y, at the nodes of x; and D times du/dx and du/dy there.
      T value[n], of_y[n], back_of_x[n], back_of_y[n];
#pragma unroll
      for (int a = 0; a < n; ++a) {
        value[a] = of_y[a] = back_of_x[a] = back_of_y[a] = T(0);
#pragma unroll
        for (int b = 0; b < n; ++b) {
          value[a] += tables.interpolate[j][b] * x_e[b * n + a];
          of_y[a] += tables.differentiate[j][b] * x_e[b * n + a];
        }
      }
#pragma unroll together
      for (int i = 0; i < m; ++i) {
        T factor[entries];
#pragma unroll
        for (int e = 0; e < entries; ++e) factor[e] = __ldcs(from + ((j * m + i) * entries + e) * group);
        T gradient[2] = {times_line(tables.differentiate[i], value), times_line(tables.interpolate[i], of_y)};
        symmetric_times(factor, T(1), gradient);
        add_to_line(tables.differentiate[i], gradient[0], back_of_x);
        add_to_line(tables.interpolate[i], gradient[1], back_of_y);
      }
#pragma unroll
      for (int b = 0; b < n; ++b)
#pragma unroll
        for (int a = 0; a < n; ++a)
          y_e[b * n + a] += tables.interpolate[j][b] * back_of_x[a] + tables.differentiate[j][b] * back_of_y[a];
    }
  }
};

/// A wave of hexahedra per thread block, one thread per line. Between axes lines are transposed through shared memory,
/// where each cell has
///   rows      u and du/dx at m points of x, n nodes of z and n nodes of y, in this order
///   columns   du/dx, du/dy and u at m points of y, m points of x and n nodes of z
/// The transposed steps use the same memory. The innermost stride is odd, so that lines of adjacent threads have few
/// bank conflicts.
template <class T, int n>
struct HexahedronCellsAnyPoints {
  static constexpr int threads = 128, plane = n * n;
  static constexpr int blocks_per_multiprocessor = sizeof(T) * n <= 12 ? 5 : sizeof(T) * n <= 24 ? 4 : 3;
  static constexpr int step = n % 2 == 0 ? n + 1 : n;

  BasisTables<T, n> tables;
  const T* factors;  ///< slot by slot, m^3 points
  int cells_at_once;

  static std::int64_t operations(std::int64_t m) {
    return 4 * m * n * n * n + 6 * m * m * n * n + 6 * m * m * m * n + 9 * m * m * m;
  }
  /// Values of shared memory per cell.
  static __host__ __device__ constexpr int room_size(int m) { return 2 * rows_size(m) + 3 * columns_size(m); }
  /// Most cells at a time: one thread per line of nodes, as far as shared memory leaves room for several blocks.
  static int most_cells_at_once(int m) {
    constexpr int bytes = 44 * 1024;
    return std::clamp(bytes / static_cast<int>(room_size(m) * sizeof(T)), 1, threads / plane);
  }

  __device__ void operator()(const Patches& all, const CellPatch& patch, const T* x, T* y, T* scratch) const {
    const int m = tables.points, room = room_size(m);
    const int mine = static_cast<int>(threadIdx.x) / plane, line = static_cast<int>(threadIdx.x) % plane;
    for (int first = 0; first < patch.cells; first += cells_at_once) {
      const int count = min(cells_at_once, static_cast<int>(patch.cells) - first);
      const std::int64_t slot = patch.first_slot + first;
      const bool active = mine < count;
      int place[n];
      T u[n];
      if (active) {
        const std::uint16_t* local_indices = all.local_indices + ((slot + mine) * plane + line) * n;
#pragma unroll
        for (int a = 0; a < n; ++a) u[a] = x[place[a] = __ldcs(local_indices + a)];
        along_x(scratch + mine * room, line, u);
      }
      __syncthreads();
      for_each_line(count, n * m, [&](int cell, int of_cell) { along_y(scratch + cell * room, of_cell); });
      __syncthreads();
      for_each_line(count, m * m, [&](int cell, int of_cell) {
        along_z(factors + (slot + cell) * (std::int64_t{entries} * m * m * m), scratch + cell * room, of_cell);
      });
      __syncthreads();
      for_each_line(count, n * m, [&](int cell, int of_cell) { back_along_y(scratch + cell * room, of_cell); });
      __syncthreads();
      if (active) back_along_x(scratch + mine * room, line, u);
      // Ends with a barrier: the memory is free for the next wave.
      CellColours(all, patch, first, first + count, active ? first + mine : patch.cells).one_by_one([&] {
        add_at([&](int a) { return place[a]; }, u, y, patch.unknown_count);
      });
    }
  }

 private:
  static constexpr int entries = 6;

  static __host__ __device__ constexpr int rows_size(int m) { return m * n * step; }
  static __host__ __device__ constexpr int columns_size(int m) { return m * m * step; }

  /// Calls work(cell, line) for `lines` lines of each of `cells` cells, distributed over the threads of the block.
  template <class Work>
  static __device__ void for_each_line(int cells, int lines, const Work& work) {
    for (int k = static_cast<int>(threadIdx.x); k < cells * lines; k += threads) work(k / lines, k % lines);
  }

  /// From the nodes of x: node `line % n` of y, `line / n` of z.
  __device__ void along_x(T* room, int line, const T (&u)[n]) const {
    const int m = tables.points;
    T* rows = room + line / n * step + line % n;
#pragma unroll 1
    for (int i = 0; i < m; ++i) {
      rows[i * (n * step)] = times_line(tables.interpolate[i], u);
      rows[rows_size(m) + i * (n * step)] = times_line(tables.differentiate[i], u);
    }
  }
  __device__ void back_along_x(const T* room, int line, T (&u)[n]) const {
    const int m = tables.points;
    const T* rows = room + line / n * step + line % n;
#pragma unroll
    for (int a = 0; a < n; ++a) u[a] = T(0);
#pragma unroll 1
    for (int i = 0; i < m; ++i) {
      add_to_line(tables.interpolate[i], rows[i * (n * step)], u);
      add_to_line(tables.differentiate[i], rows[rows_size(m) + i * (n * step)], u);
    }
  }

  /// From the nodes of y: node `line % n` of z, point `line / n` of x.
  __device__ void along_y(T* room, int line) const {
    const int m = tables.points, size = columns_size(m);
    T value[n], of_x[n];
    get(room + line * step, value);
    get(room + rows_size(m) + line * step, of_x);
    T* columns = room + 2 * rows_size(m) + line / n * step + line % n;
#pragma unroll 1
    for (int j = 0; j < m; ++j, columns += m * step) {
      columns[0] = times_line(tables.interpolate[j], of_x);
      columns[size] = times_line(tables.differentiate[j], value);
      columns[2 * size] = times_line(tables.interpolate[j], value);
    }
  }
  __device__ void back_along_y(T* room, int line) const {
    const int m = tables.points, size = columns_size(m);
    T value[n] = {}, of_x[n] = {};
    const T* columns = room + 2 * rows_size(m) + line / n * step + line % n;
#pragma unroll 1
    for (int j = 0; j < m; ++j, columns += m * step) {
      add_to_line(tables.interpolate[j], columns[0], of_x);
      add_to_line(tables.differentiate[j], columns[size], value);
      add_to_line(tables.interpolate[j], columns[2 * size], value);
    }
    put(room + line * step, value);
    put(room + rows_size(m) + line * step, of_x);
  }

  /// From the nodes of z to the points and back, in place: point `line % m` of x, `line / m` of y.
  __device__ void along_z(const T* factors_of_cell, T* room, int line) const {
    const int m = tables.points, size = columns_size(m);
    T* column = room + 2 * rows_size(m) + line * step;
    T of_x[n], of_y[n], value[n], back_of_x[n] = {}, back_of_y[n] = {}, back_of_z[n] = {};
    get(column, of_x);
    get(column + size, of_y);
    get(column + 2 * size, value);
#pragma unroll 2
    for (int k = 0; k < m; ++k) {
      T factor[entries];
      load_factor(factors_of_cell, m * m * m, k * m * m + line, factor);
      T gradient[3] = {times_line(tables.interpolate[k], of_x), times_line(tables.interpolate[k], of_y),
                       times_line(tables.differentiate[k], value)};
      symmetric_times(factor, T(1), gradient);
      add_to_line(tables.interpolate[k], gradient[0], back_of_x);
      add_to_line(tables.interpolate[k], gradient[1], back_of_y);
      add_to_line(tables.differentiate[k], gradient[2], back_of_z);
    }
    put(column, back_of_x);
    put(column + size, back_of_y);
    put(column + 2 * size, back_of_z);
  }

  static __device__ void get(const T* from, T (&line)[n]) {
#pragma unroll
    for (int a = 0; a < n; ++a) line[a] = from[a];
  }
  static __device__ void put(T* to, const T (&line)[n]) {
#pragma unroll
    for (int a = 0; a < n; ++a) to[a] = line[a];
  }
};

}  // namespace femcg::operators::cuda
