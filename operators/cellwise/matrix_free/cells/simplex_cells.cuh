#pragma once

// Products of a thread block with the triangles or tetrahedra of one patch, one thread a cell, x_e and y_e in
// registers:
//   y_e = sum_m G_m' D_m G_m x_e
// over quadrature points with their factors D_m, or, for affine cells with constant diffusion, over an orthonormal
// basis of the polynomial space of gradients, with one D (MatrixFreeInputs::gradients). Cells of degree 1 and 2 that
// are not affine are multiplied by the entries of K_e.

#include <vector>

#include "operators/cellwise/cell_loops/cell_patches.cuh"
#include "operators/cellwise/matrix_free/cells/pair_cells.cuh"
#include "operators/cellwise/matrix_free/cells/tensor_geometry.cuh"

namespace femcg::operators::cuda {

/// Blocks of 128 threads per multiprocessor whose registers have 2 n values of a cell in each thread.
template <class T, int n>
constexpr int simplex_blocks = sizeof(T) * n <= 32    ? 6
                               : sizeof(T) * n <= 80  ? 4
                               : sizeof(T) * n <= 160 ? 3
                                                      : 2;

template <class T, int d, int n, CellGeometry kind>
struct SimplexCells {
  static_assert(kind == CellGeometry::affine || kind == CellGeometry::stored);
  static constexpr int threads = 128, wave = threads, blocks_per_multiprocessor = simplex_blocks<T, n>;
  static constexpr int entries = d * (d + 1) / 2, scratch_size = 0;

  const T* gradients;  ///< [tables][axes][dofs]
  int tables;
  const T* factors;              ///< interleaved: of 1 (affine) or `tables` points
  const std::uint16_t* classes;  ///< of slots, if factors are stored per congruence class; else null

  static const std::vector<double>& laid_out(const std::vector<double>& gradients, int) { return gradients; }

  __device__ void operator()(const Patches& all, const CellPatch& patch, const T* x, T* y, T* scratch) const {
    waves(all, patch, 0, patch.first_slot, x, y, scratch);
  }
  /// The waves from slot `first` of the patch on. `base`: index of the data of the patch's slot 0.
  __device__ void waves(const Patches& all, const CellPatch& patch, int first, std::int64_t base, const T* x, T* y,
                        T*) const {
    for (; first < patch.slots; first += wave)
      wave_of_cells<threads, n>(all, patch, first, x, y,
                                [&](int slot, const T(&x_e)[n], T(&y_e)[n]) { multiply(base + slot, x_e, y_e); });
  }

 private:
  /// y_e of the cell with the data of a slot.
  __device__ void multiply(std::int64_t slot, const T (&x_e)[n], T (&y_e)[n]) const {
    constexpr int group = CellPatches::group;
    constexpr bool one = kind == CellGeometry::affine;
    const std::int64_t at = one && classes != nullptr ? __ldcs(classes + slot) : slot;
    const T* from = factors + at / group * (std::int64_t{one ? 1 : tables} * entries * group) + at % group;
    T factor[entries];
    if (one) {
#pragma unroll
      for (int e = 0; e < entries; ++e) factor[e] = load_number(from + e * group, classes != nullptr);
    }
#pragma unroll
    for (int a = 0; a < n; ++a) y_e[a] = T(0);
#pragma unroll 1
    for (int m = 0; m < tables; ++m) {
      if (!one) {
#pragma unroll
        for (int e = 0; e < entries; ++e) factor[e] = __ldcs(from + (m * entries + e) * group);
      }
      const T* table = gradients + m * (d * n);
      T gradient[d];
#pragma unroll
      for (int axis = 0; axis < d; ++axis) {
        gradient[axis] = T(0);
#pragma unroll
        for (int a = 0; a < n; ++a) gradient[axis] += __ldg(table + axis * n + a) * x_e[a];
      }
      symmetric_times(factor, T(1), gradient);
#pragma unroll
      for (int axis = 0; axis < d; ++axis)
#pragma unroll
        for (int a = 0; a < n; ++a) y_e[a] += __ldg(table + axis * n + a) * gradient[axis];
    }
  }
};

/// y_e = K_e x_e by the entries of K_e.
template <class T, int d, int n>
struct SimplexCells<T, d, n, CellGeometry::pairs> {
  static constexpr int threads = 128, wave = threads, blocks_per_multiprocessor = simplex_blocks<T, n>;
  static constexpr int scratch_size = 0;

  const T* numbers;

  __device__ void operator()(const Patches& all, const CellPatch& patch, const T* x, T* y, T* scratch) const {
    waves(all, patch, 0, patch.first_slot, x, y, scratch);
  }
  __device__ void waves(const Patches& all, const CellPatch& patch, int first, std::int64_t base, const T* x, T* y,
                        T*) const {
    for (; first < patch.slots; first += wave)
      wave_of_cells<threads, n>(all, patch, first, x, y, [&](int slot, const T(&x_e)[n], T(&y_e)[n]) {
        multiply_pairs(pairs_of_slot<n>(numbers, base + slot), x_e, y_e);
      });
  }
};

/// Cells of patches whose first waves are affine, and the others not (MixedGroups). The scratch is used by the former,
/// then by the latter.
template <class T, class OfAffine, class OfOthers>
struct MixedSimplices {
  using Affine = OfAffine;
  using Others = OfOthers;
  static_assert(Affine::threads == Others::threads);
  static constexpr int threads = Others::threads;
  static constexpr int blocks_per_multiprocessor = Affine::blocks_per_multiprocessor < Others::blocks_per_multiprocessor
                                                       ? Affine::blocks_per_multiprocessor
                                                       : Others::blocks_per_multiprocessor;
  static constexpr int scratch_size =
      Affine::scratch_size < Others::scratch_size ? Others::scratch_size : Affine::scratch_size;

  Affine affine;
  Others others;
  const std::int32_t* group_numbers;

  __device__ void operator()(const Patches& all, const CellPatch& patch, const T* x, T* y, T* scratch) const {
    constexpr int group = CellPatches::group;
    static_assert(threads_per_warp * Affine::wave >= PatchOptions::most_cells);
    const auto number_of = [&](int slot) { return __ldg(group_numbers + (patch.first_slot + slot) / group); };
    const int slot = static_cast<int>(threadIdx.x) % threads_per_warp * Affine::wave;
    const bool is_affine = slot < patch.slots && number_of(slot) < 0;
    const int end = min(__popc(__ballot_sync(all_lanes, is_affine)) * Affine::wave, int{patch.slots});
    if (end > 0) {
      CellPatch front = patch;
      front.slots = static_cast<std::uint16_t>(end);
      front.cells = static_cast<std::uint16_t>(min(end, int{patch.cells}));
      affine.waves(all, front, 0, std::int64_t{-1 - number_of(0)} * group, x, y, scratch);
    }
    if (end < patch.slots) others.waves(all, patch, end, std::int64_t{number_of(end)} * group - end, x, y, scratch);
  }
};

}  // namespace femcg::operators::cuda
