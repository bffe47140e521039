#pragma once

// What a thread block does with the quadrilaterals or hexahedra of one patch, by sum factorisation with as many Gauss
// points a direction as nodes: interpolation to the Gauss points along one axis after the other, derivatives there by
// those of the Lagrange polynomials on the Gauss points, D, and all of it transposed (Orszag 1980; Kronbichler &
// Kormann 2019). 4 d n^(d+1) multiply-adds a cell.

#include "operators/cuda_cell_patches.cuh"
#include "operators/matrix_free/tensor_geometry.cuh"

namespace femcg::operators::cuda {

/// The tables along a line, an argument of the kernel: constant memory, which multiply-adds read directly.
template <class T, int n>
struct LineTables {
  T interpolate[n][n];    ///< basis a at Gauss point q: [q][a]
  T differentiate[n][n];  ///< polynomial m on the Gauss points, at point q: [q][m]
};

/// to_q = sum_a m[q][a] v_a, in place.
template <class T, int n>
__device__ void apply_line(const T (&m)[n][n], T (&v)[n]) {
  T from[n];
#pragma unroll
  for (int a = 0; a < n; ++a) from[a] = v[a];
#pragma unroll
  for (int q = 0; q < n; ++q) {
    v[q] = m[q][0] * from[0];
#pragma unroll
    for (int a = 1; a < n; ++a) v[q] += m[q][a] * from[a];
  }
}
/// to_a = sum_q m[q][a] v_q, in place.
template <class T, int n>
__device__ void apply_line_transposed(const T (&m)[n][n], T (&v)[n]) {
  T from[n];
#pragma unroll
  for (int q = 0; q < n; ++q) from[q] = v[q];
#pragma unroll
  for (int a = 0; a < n; ++a) {
    v[a] = m[0][a] * from[0];
#pragma unroll
    for (int q = 1; q < n; ++q) v[a] += m[q][a] * from[q];
  }
}

/// What a thread needs of the GPU's memory for its cell, loaded while others are worked on.
template <class T, int dofs, class Geometry>
struct CellAhead {
  Places<dofs> places;
  T words[Geometry::words + 1];

  __device__ void load(const Patches& all, const CellPatch& patch, int slot, const Geometry& geometry) {
    constexpr int group = CellPatches::group;
    if (slot >= patch.cells) return;
    places.load(all, patch, slot);
    const std::int64_t from = patch.first_slot + slot;
#pragma unroll
    for (int k = 0; k < Geometry::words; ++k)
      words[k] = __ldcs(geometry.data + (from / group * Geometry::words + k) * group + from % group);
  }
};

/// A patch's cells, a thread each, wave by wave; large cells come in one wave. `Cell` has multiply(cell, u), u = K_e u;
/// `of` is it.
template <int threads, class T, int dofs, class Geometry, class Cell>
__device__ void thread_cells(const Patches& all, const CellPatch& patch, const T* x, T* y, const Geometry& geometry,
                             const Cell& of, const CellAhead<T, dofs, Geometry>& first_ahead) {
  constexpr bool one_wave = dofs >= 16;
  CellAhead<T, dofs, Geometry> next = first_ahead;
  for (int first = 0; first < (one_wave ? 1 : patch.slots); first += threads) {
    const CellAhead<T, dofs, Geometry> now = next;
    const int slot = first + static_cast<int>(threadIdx.x);
    if constexpr (!one_wave) next.load(all, patch, slot + threads, geometry);
    T u[dofs];
    if (slot < patch.cells) {
      now.places.take(x, u);
      of.multiply(geometry.cell(now.words, patch.first_slot + slot), u);
    }
    for_each_colour(all, patch, first, first + threads, slot,
                    [&] { now.places.add(u, y, static_cast<int>(patch.unknown_count)); });
  }
}

/// A thread a quadrilateral, all of it in registers.
template <class T, int n, CellGeometry kind>
struct QuadrilateralCells {
  static constexpr int threads = 128;
  // Measured on an H200: where a cell is little work, many cells at a time hide what they wait for.
  static constexpr bool little = kind == CellGeometry::affine && sizeof(T) * n * n <= 36;
  static constexpr int blocks_a_multiprocessor = little   ? (n == 2 && sizeof(T) == 4 ? 10 : 8)
                                                 : n <= 3 ? 6
                                                 : n == 4 ? 4
                                                          : (sizeof(T) == 8 ? 3 : 4);
  static constexpr int scratch_size = 0;
  using Geometry = TensorGeometry<T, 2, n, kind>;
  using Ahead = CellAhead<T, n * n, Geometry>;

  LineTables<T, n> tables;
  Geometry geometry;

  __device__ Ahead ahead(const Patches& all, const CellPatch& patch) const {
    Ahead of;
    of.load(all, patch, static_cast<int>(threadIdx.x), geometry);
    return of;
  }
  __device__ void operator()(const Patches& all, const CellPatch& patch, const T* x, T* y, T*,
                             const Ahead& ahead) const {
    thread_cells<threads>(all, patch, x, y, geometry, *this, ahead);
  }

  static __device__ void row(const T (&u)[n * n], int j, T (&line)[n]) {
#pragma unroll
    for (int i = 0; i < n; ++i) line[i] = u[j * n + i];
  }
  static __device__ void column(const T (&u)[n * n], int i, T (&line)[n]) {
#pragma unroll
    for (int j = 0; j < n; ++j) line[j] = u[j * n + i];
  }
  static __device__ void set_row(T (&u)[n * n], int j, const T (&line)[n]) {
#pragma unroll
    for (int i = 0; i < n; ++i) u[j * n + i] = line[i];
  }
  static __device__ void set_column(T (&u)[n * n], int i, const T (&line)[n]) {
#pragma unroll
    for (int j = 0; j < n; ++j) u[j * n + i] = line[j];
  }

  template <class Cell>
  __device__ void multiply(const Cell& cell, T (&u)[n * n]) const {
    T line[n], along_x[n * n];
#pragma unroll
    for (int j = 0; j < n; ++j) {
      row(u, j, line);
      apply_line(tables.interpolate, line);
      set_row(u, j, line);
    }
#pragma unroll
    for (int i = 0; i < n; ++i) {
      column(u, i, line);
      apply_line(tables.interpolate, line);
      set_column(u, i, line);
    }
#pragma unroll
    for (int j = 0; j < n; ++j) {
      row(u, j, line);
      apply_line(tables.differentiate, line);
      set_row(along_x, j, line);
    }
    // Column by column: the derivative along y, D, and back along y; what goes back along x waits in along_x.
#pragma unroll
    for (int i = 0; i < n; ++i) {
      column(u, i, line);
      apply_line(tables.differentiate, line);
#pragma unroll
      for (int j = 0; j < n; ++j) {
        T gradient[2] = {along_x[j * n + i], line[j]};
        geometry.apply(cell, {i, j, 0}, gradient);
        along_x[j * n + i] = gradient[0];
        line[j] = gradient[1];
      }
      apply_line_transposed(tables.differentiate, line);
      set_column(u, i, line);
    }
#pragma unroll
    for (int j = 0; j < n; ++j) {
      row(along_x, j, line);
      apply_line_transposed(tables.differentiate, line);
#pragma unroll
      for (int i = 0; i < n; ++i) u[j * n + i] += line[i];
    }
#pragma unroll
    for (int i = 0; i < n; ++i) {
      column(u, i, line);
      apply_line_transposed(tables.interpolate, line);
      set_column(u, i, line);
    }
#pragma unroll
    for (int j = 0; j < n; ++j) {
      row(u, j, line);
      apply_line_transposed(tables.interpolate, line);
      set_row(u, j, line);
    }
  }
};

/// A thread a hexahedron of degree 1, all of it in registers.
template <class T, CellGeometry kind>
struct TrilinearCells {
  static constexpr int threads = 128, n = 2, points = 8;
  static constexpr int blocks_a_multiprocessor = sizeof(T) == 8 ? 4 : 6;
  static constexpr int scratch_size = 0;
  using Geometry = TensorGeometry<T, 3, n, kind>;
  using Ahead = CellAhead<T, points, Geometry>;

  LineTables<T, n> tables;
  Geometry geometry;

  __device__ Ahead ahead(const Patches& all, const CellPatch& patch) const {
    Ahead of;
    of.load(all, patch, static_cast<int>(threadIdx.x), geometry);
    return of;
  }
  __device__ void operator()(const Patches& all, const CellPatch& patch, const T* x, T* y, T*,
                             const Ahead& ahead) const {
    thread_cells<threads>(all, patch, x, y, geometry, *this, ahead);
  }

  template <class Cell>
  __device__ void multiply(const Cell& cell, T (&u)[points]) const {
    along<1, false>(tables.interpolate, u);
    along<2, false>(tables.interpolate, u);
    along<4, false>(tables.interpolate, u);
    T of_y[points], of_z[points];
#pragma unroll
    for (int q = 0; q < points; ++q) of_y[q] = of_z[q] = u[q];
    along<1, false>(tables.differentiate, u);
    along<2, false>(tables.differentiate, of_y);
    along<4, false>(tables.differentiate, of_z);
#pragma unroll
    for (int t = 0; t < n; ++t)
#pragma unroll
      for (int s = 0; s < n; ++s) {
        const auto line = geometry.line_of(cell, s, t);
#pragma unroll
        for (int i = 0; i < n; ++i) {
          const int q = (t * n + s) * n + i;
          T gradient[3] = {u[q], of_y[q], of_z[q]};
          geometry.apply(line, {i, s, t}, gradient);
          u[q] = gradient[0];
          of_y[q] = gradient[1];
          of_z[q] = gradient[2];
        }
      }
    along<1, true>(tables.differentiate, u);
    along<2, true>(tables.differentiate, of_y);
    along<4, true>(tables.differentiate, of_z);
#pragma unroll
    for (int q = 0; q < points; ++q) u[q] += of_y[q] + of_z[q];
    along<1, true>(tables.interpolate, u);
    along<2, true>(tables.interpolate, u);
    along<4, true>(tables.interpolate, u);
  }

 private:
  /// Applies a table to the lines along the axis in which neighbours are `step` apart.
  template <int step, bool transposed>
  static __device__ void along(const T (&m)[n][n], T (&u)[points]) {
#pragma unroll
    for (int q = 0; q < points; ++q) {
      if (q & step) continue;
      T line[n] = {u[q], u[q + step]};
      transposed ? apply_line_transposed(m, line) : apply_line(m, line);
      u[q] = line[0];
      u[q + step] = line[1];
    }
  }
};

/// n x n threads a hexahedron, each with a line of n numbers in registers, which change between the axes through shared
/// memory. The threads of a cell are of one warp.
template <class T, int n, CellGeometry kind>
struct HexahedronCells {
  static constexpr int threads = 128, warps = threads / threads_a_warp;
  static constexpr int team = n * n, teams = threads_a_warp / team, cells_at_once = warps * teams;
  static constexpr int blocks_a_multiprocessor = sizeof(T) == 8 ? 4 : 6;
  static_assert(teams >= 1);
  /// Steps in a cube in shared memory, so that lines along each axis meet few banks twice.
  static constexpr int row = n % 2 == 0 ? n + 1 : n, plane = n * row, cube = n * plane;
  /// Numbers of shared memory: two cubes and the cell's own numbers a team.
  static constexpr int team_room = (2 * cube + TensorGeometry<T, 3, n, kind>::words + 1) / 2 * 2;
  static constexpr int scratch_size = cells_at_once * team_room;

  using Geometry = TensorGeometry<T, 3, n, kind>;
  /// Of the numbers of a cell, each thread of its team has some on their way.
  static constexpr int words_each = (Geometry::words + team - 1) / team;

  LineTables<T, n> tables;
  Geometry geometry;

  __device__ void operator()(const Patches& all, const CellPatch& patch, const T* x, T* y, T* scratch) const {
    const int lane = static_cast<int>(threadIdx.x) % threads_a_warp,
              warp = static_cast<int>(threadIdx.x) / threads_a_warp;
    const int of_warp = lane / team, member = lane % team;
    const int mine = of_warp < teams ? warp * teams + of_warp : cells_at_once;  // idle lanes have no cell
    const Member who{member % n, member / n, mine < cells_at_once, scratch + min(mine, cells_at_once - 1) * team_room};
    Ahead next = ahead(all, patch, mine, member);
    for (int first = 0; first < patch.cells; first += cells_at_once) {
      const Ahead now = next;
      const int cell = who.active ? first + mine : static_cast<int>(patch.cells);
      next = ahead(all, patch, who.active ? cell + cells_at_once : cell, member);
      T u[n];
#pragma unroll
      for (int k = 0; k < n; ++k) u[k] = x[now.place[k]];
      if (who.active)
#pragma unroll
        for (int k = 0; k < words_each; ++k)
          if (k * team + member < Geometry::words) who.words()[k * team + member] = now.words[k];
      multiply(patch.first_slot + cell, cell < patch.cells, who, u);
      for_each_colour(all, patch, first, first + cells_at_once, cell, [&] {
#pragma unroll
        for (int k = 0; k < n; ++k)
          if (now.place[k] < patch.unknown_count) y[now.place[k]] += u[k];
      });
    }
  }

 private:
  /// A thread of a team: where it stands, and the team's shared memory.
  struct Member {
    int s, t;
    bool active;
    T* room;
    __device__ T* a() const { return room; }
    __device__ T* b() const { return room + cube; }
    __device__ T* words() const { return room + 2 * cube; }
  };
  /// What a cell needs of the GPU's memory, loaded while the one before is worked on.
  struct Ahead {
    int place[n];
    T words[words_each + 1];
  };
  __device__ Ahead ahead(const Patches& all, const CellPatch& patch, int cell, int member) const {
    Ahead of;
    const bool there = cell < patch.cells;
    const std::int64_t slot = patch.first_slot + cell;
#pragma unroll
    for (int k = 0; k < n; ++k)
      of.place[k] = there ? __ldcs(all.places + slot * (team * n) + k * team + member) : patch.unknown_count;
#pragma unroll
    for (int k = 0; k < words_each; ++k)
      if (there && k * team + member < Geometry::words)
        of.words[k] = __ldcs(geometry.data + slot * Geometry::words + k * team + member);
    return of;
  }

  // Lines along x, y and z of a cube; s and t count the other two axes in their order.
  static __device__ int along_x(int s, int t) { return s * row + t * plane; }
  static __device__ int along_y(int s, int t) { return s + t * plane; }
  static __device__ int along_z(int s, int t) { return s + t * row; }

  template <int step>
  static __device__ void put(bool active, T* cube, int at, const T (&line)[n]) {
    if (!active) return;
#pragma unroll
    for (int k = 0; k < n; ++k) cube[at + k * step] = line[k];
  }
  template <int step>
  static __device__ void get(const T* cube, int at, T (&line)[n]) {
#pragma unroll
    for (int k = 0; k < n; ++k) line[k] = cube[at + k * step];
  }

  /// u is a line along z, of nodes, before and after. All lanes of the warp call it; idle ones write nothing.
  __device__ void multiply(std::int64_t slot, bool there, const Member& who, T (&u)[n]) const {
    T *a = who.a(), *b = who.b();
    const int s = who.s, t = who.t;
    const bool active = who.active;
    apply_line(tables.interpolate, u);
    put<plane>(active, a, along_z(s, t), u);
    __syncwarp();
    get<row>(a, along_y(s, t), u);
    apply_line(tables.interpolate, u);
    put<row>(active, a, along_y(s, t), u);
    __syncwarp();
    get<1>(a, along_x(s, t), u);
    apply_line(tables.interpolate, u);
    put<1>(active, a, along_x(s, t), u);
    __syncwarp();
    // The derivatives along y and z come to the lines along x, where D is applied.
    T of_y[n], of_z[n];
    get<row>(a, along_y(s, t), of_y);
    get<plane>(a, along_z(s, t), of_z);
    __syncwarp();
    apply_line(tables.differentiate, of_y);
    apply_line(tables.differentiate, of_z);
    put<row>(active, a, along_y(s, t), of_y);
    put<plane>(active, b, along_z(s, t), of_z);
    __syncwarp();
    get<1>(a, along_x(s, t), of_y);
    get<1>(b, along_x(s, t), of_z);
    apply_line(tables.differentiate, u);
    if (there) {
      const auto cell = geometry.line(who.words(), slot, s, t);
#pragma unroll
      for (int i = 0; i < n; ++i) {
        T gradient[3] = {u[i], of_y[i], of_z[i]};
        geometry.apply(cell, {i, s, t}, gradient);
        u[i] = gradient[0];
        of_y[i] = gradient[1];
        of_z[i] = gradient[2];
      }
    }
    put<1>(active, a, along_x(s, t), of_y);
    put<1>(active, b, along_x(s, t), of_z);
    apply_line_transposed(tables.differentiate, u);
    __syncwarp();
    get<row>(a, along_y(s, t), of_y);
    get<plane>(b, along_z(s, t), of_z);
    apply_line_transposed(tables.differentiate, of_y);
    apply_line_transposed(tables.differentiate, of_z);
    put<row>(active, a, along_y(s, t), of_y);
    put<plane>(active, b, along_z(s, t), of_z);
    __syncwarp();
    get<1>(a, along_x(s, t), of_y);
    get<1>(b, along_x(s, t), of_z);
#pragma unroll
    for (int i = 0; i < n; ++i) u[i] += of_y[i] + of_z[i];
    apply_line_transposed(tables.interpolate, u);
    put<1>(active, a, along_x(s, t), u);
    __syncwarp();
    get<row>(a, along_y(s, t), u);
    apply_line_transposed(tables.interpolate, u);
    put<row>(active, a, along_y(s, t), u);
    __syncwarp();
    get<plane>(a, along_z(s, t), u);
    apply_line_transposed(tables.interpolate, u);
  }
};

}  // namespace femcg::operators::cuda
