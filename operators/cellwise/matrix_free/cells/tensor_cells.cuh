#pragma once

// Products of a thread block with the quadrilaterals of one patch, by sum factorisation with as many Gauss points as
// nodes per direction, and common parts of hexahedra (hexahedron_cells.cuh): interpolation to the Gauss points axis by
// axis, derivatives there by those of the Lagrange polynomials on the Gauss points, D, and the transposed steps (Orszag
// 1980; Kronbichler & Kormann 2019). 4 d n^(d+1) multiply-adds a cell.

#include "operators/cellwise/cell_loops/cell_patches.cuh"
#include "operators/cellwise/matrix_free/cells/box_cells.cuh"
#include "operators/cellwise/matrix_free/cells/pair_cells.cuh"
#include "operators/cellwise/matrix_free/cells/tensor_geometry.cuh"

namespace femcg::operators::cuda {

/// The tables along a line. A kernel argument, in constant memory, which multiply-adds read directly.
template <class T, int n>
struct LineTables {
  T interpolate[n][n];    ///< basis a at Gauss point q: [q][a]
  T differentiate[n][n];  ///< polynomial m on the Gauss points, at point q: [q][m]
};

/// The tables of a kernel, by geometry.
template <class T, int n, CellGeometry kind>
using TablesOf = std::conditional_t<kind == CellGeometry::boxes, LineMatrices<T, n>, LineTables<T, n>>;

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

/// A thread's data of its cell, loaded while other cells are processed.
template <class T, int dofs, class Geometry>
struct CellAhead {
  LocalIndices<dofs> local_indices;
  T words[Geometry::words + 1];
  int of_class;  ///< of the cell, if words are stored per congruence class: these are in the caches, and loaded
                 ///< by look_up()

  __device__ void load(const Patches& all, const CellPatch& patch, int slot, const Geometry& geometry) {
    if (slot >= patch.cells) return;
    local_indices.load(all, patch, slot);
    if constexpr (Geometry::words > 0) {
      const std::int64_t at = patch.first_slot + slot;
      if (geometry.classes == nullptr)
        load_words(geometry, at, false);
      else
        of_class = __ldcs(geometry.classes + at);
    }
  }
  __device__ void look_up(const Geometry& geometry) {
    if constexpr (Geometry::words > 0)
      if (geometry.classes != nullptr) load_words(geometry, of_class, true);
  }

 private:
  __device__ void load_words(const Geometry& geometry, std::int64_t at, bool once) {
    constexpr int group = CellPatches::group;
#pragma unroll
    for (int k = 0; k < Geometry::words; ++k)
      words[k] = load_number(geometry.data + (at / group * Geometry::words + k) * group + at % group, once);
  }
};

/// True if a dof of a cell with `nodes` nodes per direction is on none of its facets.
template <int nodes, int dofs>
__device__ constexpr bool is_inside(int dof) {
  for (int block = dofs / nodes; block > 0; block /= nodes)
    if (dof / block % nodes == 0 || dof / block % nodes == nodes - 1) return false;
  return true;
}

/// The same for `together` cells of a wave, numbered by the threads of the block.
template <int threads, int together, class T, int dofs, class Geometry>
struct CellsAhead {
  static constexpr bool one_wave = is_one_wave(dofs);

  CellAhead<T, dofs, Geometry> cells[together];

  static __device__ int slot(int first, int j) { return first + j * threads + static_cast<int>(threadIdx.x); }
  __device__ void load(const Patches& all, const CellPatch& patch, int first, const Geometry& geometry) {
#pragma unroll
    for (int j = 0; j < together; ++j) cells[j].load(all, patch, slot(first, j), geometry);
  }
};

/// Processes a patch's cells wave by wave, `together` cells per thread at a time. Data of the next wave are prefetched
/// while this one is multiplied, or, if large cells need all registers for that, while it is added. `Cell` has
/// multiply(cell, u), which computes u = K_e u.
template <int nodes, int threads, int together, class T, int dofs, class Geometry, class Cell>
__device__ void thread_cells(const Patches& all, const CellPatch& patch, const T* x, T* y, const Geometry& geometry,
                             const Cell& of, const CellsAhead<threads, together, T, dofs, Geometry>& first_ahead) {
  using Ahead = CellsAhead<threads, together, T, dofs, Geometry>;
  constexpr bool large = dofs >= 16, one_wave = Ahead::one_wave;
  constexpr int wave = threads * together;
  Ahead next = first_ahead;
  for (int first = 0; first < (one_wave ? 1 : patch.slots); first += wave) {
    Ahead now = next;
    const WaveColours colours(all, patch, first, first + wave);
    int mine[together];
#pragma unroll
    for (int j = 0; j < together; ++j) mine[j] = colour_of(all, patch, Ahead::slot(first, j));
    if constexpr (!large) next.load(all, patch, first + wave, geometry);
    T u[together][dofs];
#pragma unroll
    for (int j = 0; j < together; ++j)
      if (const int slot = Ahead::slot(first, j); slot < patch.cells) {
        now.cells[j].look_up(geometry);
        now.cells[j].local_indices.take(x, u[j]);
        of.multiply(geometry.cell(now.cells[j].words, patch.first_slot + slot), u[j]);
      }
    if constexpr (large && !one_wave) next.load(all, patch, first + wave, geometry);
      // Interior dofs of a cell belong to no other cell, and are never constrained.
#pragma unroll
    for (int j = 0; j < together; ++j)
      if (mine[j] >= 0)
#pragma unroll
        for (int a = 0; a < dofs; ++a)
          if (is_inside<nodes, dofs>(a)) y[now.cells[j].local_indices[a]] = u[j][a];
    colours.one_by_one([&](int colour) {
#pragma unroll
      for (int j = 0; j < together; ++j)
        if (mine[j] == colour)
          add_at([&](int a) { return now.cells[j].local_indices[a]; }, [](int a) { return !is_inside<nodes, dofs>(a); },
                 u[j], y, static_cast<int>(patch.unknown_count));
    });
  }
}

/// One thread per quadrilateral, in registers.
template <class T, int n, CellGeometry kind>
struct QuadrilateralCells {
  static constexpr int threads = cells_per_wave;
  static constexpr bool small = sizeof(T) == 4, affine = is_affine(kind);
  /// Measured on an H200: many cells at a time hide latency, as far as their data stay in registers.
  static constexpr bool boxes = kind == CellGeometry::boxes;
  static constexpr int blocks_per_multiprocessor = n == 2   ? (!affine ? 6
                                                               : small ? 10
                                                                       : 8)
                                                   : n == 3 ? (!affine ? 6
                                                               : small ? 8
                                                                       : 5)
                                                   : n == 4 ? (affine && small ? 5 : 4)
                                                   : small  ? (boxes ? 5 : 4)
                                                            : 3;
  static constexpr int scratch_size = 0;
  using Geometry = TensorGeometry<T, 2, n, kind>;
  /// Cells with little data two at a time: they share the loops over colours and the barriers.
  static constexpr int together = n == 2 && affine && small ? 2 : 1;
  using Ahead = CellsAhead<threads, together, T, n * n, Geometry>;

  TablesOf<T, n, kind> tables;
  Geometry geometry;

  __device__ Ahead ahead(const Patches& all, const CellPatch& patch) const {
    Ahead of;
    of.load(all, patch, 0, geometry);
    return of;
  }
  __device__ void operator()(const Patches& all, const CellPatch& patch, const T* x, T* y, T*,
                             const Ahead& ahead) const {
    thread_cells<n>(all, patch, x, y, geometry, *this, ahead);
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

  __device__ void multiply(const Box<T, 2>& box, T (&u)[n * n]) const { multiply_box<T, n>(tables, box, u); }
  __device__ void multiply(const CellPairs<T>& pairs, T (&u)[n * n]) const { multiply_pairs(pairs, u); }
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
    // Column by column: the derivative along y, D, and its transpose along y; terms for the transpose along x go to
    // along_x.
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

}  // namespace femcg::operators::cuda
