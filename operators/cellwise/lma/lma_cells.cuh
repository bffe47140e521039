#pragma once

// y_e = K_e x_e for the cells of one patch, by one thread block, from the lower triangle of K_e. Its row i contributes
// to y_i and, mirrored, to y_j with j < i.

#include <cuda_pipeline_primitives.h>

#include <cstdint>

#include "operators/cellwise/cell_loops/cell_patches.cuh"
#include "operators/cellwise/lma/lma_layout.cuh"

namespace femcg::operators::cuda {

template <class T>
struct SixteenBytes;
template <>
struct SixteenBytes<double> {
  using type = double2;
  static __device__ void unpack(double2 from, double (&to)[2]) {
    to[0] = from.x;
    to[1] = from.y;
  }
};
template <>
struct SixteenBytes<float> {
  using type = float4;
  static __device__ void unpack(float4 from, float (&to)[4]) {
    to[0] = from.x;
    to[1] = from.y;
    to[2] = from.z;
    to[3] = from.w;
  }
};

/// Blocks per multiprocessor that leave each thread `registers` of the 65536 registers.
constexpr int blocks_with_registers(int threads, int registers) {
  const int blocks = 65536 / (threads * registers);
  return blocks < 1 ? 1 : blocks * threads > 2048 ? 2048 / threads : blocks;
}

/// Loads a value, with an evict-first hint unless it is `shared` between cells.
template <bool shared, class Value>
__device__ Value load(const Value* at) {
  if constexpr (shared)
    return __ldg(at);
  else
    return __ldcs(at);
}

/// One thread per cell of n dofs. x_e and y_e stay in registers; the matrix is loaded in runs of 16 bytes, `in_flight`
/// of them at any time. `once`: congruent cells store one matrix; adjacent threads then mostly load the same data.
template <class T, int n, bool once>
struct ThreadCells {
  static constexpr int threads = 128, together = LmaLayout<T>::together;
  static constexpr int packed = n * (n + 1) / 2, runs = (packed + together - 1) / together;
  static constexpr int in_flight = runs < 8 ? runs : 8;
  static constexpr int words = sizeof(T) / 4;
  static constexpr int blocks_per_multiprocessor = blocks_with_registers(threads, 2 * words * n + 4 * in_flight + 36);
  static constexpr int scratch_size = 0;

  const T* values;
  const std::int32_t* matrix_of_slot;  ///< if `once`

  __device__ void operator()(const Patches& all, const CellPatch& patch, const T* x, T* y, T*) const {
    wave_by_wave<threads, n>(all, patch, x, y,
                             [this](std::int64_t slot, const T(&x_e)[n], T(&y_e)[n]) { multiply(slot, x_e, y_e); });
  }

 private:
  using Run = SixteenBytes<T>;

  __device__ void multiply(std::int64_t slot, const T (&x_e)[n], T (&y_e)[n]) const {
    constexpr int group = once ? 1 : CellPatches::group;
    const std::int64_t matrix = once ? matrix_of_slot[slot] : slot;
    const auto* from =
        reinterpret_cast<const typename Run::type*>(values) + matrix / group * (runs * group) + matrix % group;
    typename Run::type coming[in_flight];
#pragma unroll
    for (int run = 0; run < in_flight; ++run) coming[run] = load<once>(from + run * group);
    T k[together];
#pragma unroll
    for (int i = 0; i < n; ++i) {
      y_e[i] = T(0);
#pragma unroll
      for (int j = 0; j <= i; ++j) {
        const int entry = i * (i + 1) / 2 + j, run = entry / together;
        if (entry % together == 0) {
          Run::unpack(coming[run % in_flight], k);
          if (run + in_flight < runs) coming[run % in_flight] = load<once>(from + (run + in_flight) * group);
        }
        y_e[i] += k[entry % together] * x_e[j];
        if (j < i) y_e[j] += k[entry % together] * x_e[i];
      }
    }
  }
};

/// Columns of an element matrix that a warp multiplies by at a time.
constexpr int columns_together = 4;

/// Adds up four sums over a warp; lane l receives sum l / 8.
template <class T>
__device__ T sum_of_column(const T (&parts)[columns_together]) {
  const bool upper = (threadIdx.x & 16) != 0, odd = (threadIdx.x & 8) != 0;
  T pair[2];
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    const T low = parts[c], high = parts[c + 2];
    pair[c] = (upper ? high : low) + __shfl_xor_sync(all_lanes, upper ? low : high, 16);
  }
  T sum = (odd ? pair[1] : pair[0]) + __shfl_xor_sync(all_lanes, odd ? pair[0] : pair[1], 8);
#pragma unroll
  for (int distance = 4; distance > 0; distance /= 2) sum += __shfl_xor_sync(all_lanes, sum, distance);
  return sum;
}

/// One warp per cell of n dofs: lane l has the rows l, l + 32, ... of x_e and y_e. The matrix is processed in panels of
/// four columns, in a loop whose few instructions stay in the instruction cache. With `once` columns are loaded when
/// needed, as they are in the caches; otherwise each warp prefetches the next panels, also those of its next cell, to
/// shared memory.
template <class T, int n, bool once>
struct WarpCells {
  static constexpr int threads = 128, warps = threads / threads_per_warp;
  static constexpr int rows = (n + threads_per_warp - 1) / threads_per_warp;
  static constexpr int packed = n * (n + 1) / 2, together = columns_together;
  static constexpr int words = sizeof(T) / 4;
  static constexpr int blocks_per_multiprocessor =
      blocks_with_registers(threads, words*(together + (2 + together) * rows) + 48);
  /// Panels in flight; values of shared memory per panel, aligned to 16 bytes at both ends.
  static constexpr int panels = (n + together - 1) / together, ahead_of_use = n <= 40 ? 4 : 2;
  static constexpr int run = LmaLayout<T>::together, panel_room = (together * n + 2 * (run - 1)) / run * run;
  static constexpr int ring = ahead_of_use + 1, scratch_size = once ? 0 : warps * ring * panel_room;

  const T* values;
  const std::int32_t* matrix_of_slot;  ///< if `once`

  __device__ void operator()(const Patches& all, const CellPatch& patch, const T* x, T* y, T* scratch) const {
    const int lane = static_cast<int>(threadIdx.x) % threads_per_warp;
    const int warp = static_cast<int>(threadIdx.x) / threads_per_warp;
    Panels coming{values + (patch.first_slot + warp) * packed, scratch + warp * (ring * panel_room),
                  (patch.cells - warp + warps - 1) / warps};
    if constexpr (!once)
      for (int panel = 0; panel < ahead_of_use; ++panel) coming.fetch(lane);
    for (int first = 0; first < patch.cells; first += warps) {
      const int cell = first + warp;
      const CellColours colours(all, patch, first, first + warps, cell);
      int place[rows];
      T y_e[rows];
      if (cell < patch.cells) {
        T x_e[rows];
#pragma unroll
        for (int b = 0; b < rows; ++b) {
          const int i = b * threads_per_warp + lane;
          place[b] = i < n ? __ldcs(all.local_indices + (patch.first_slot + cell) * n + i) : patch.unknown_count;
          x_e[b] = x[place[b]];
          y_e[b] = T(0);
        }
        const std::int64_t slot = patch.first_slot + cell;
        if constexpr (once) {
          const T* matrix = values + std::int64_t{matrix_of_slot[slot]} * packed + lane;
          multiply([matrix](int first) { return matrix + start(first); }, lane, x_e, y_e);
        } else {
          const int phase = static_cast<int>(slot * packed % run);
          multiply([&](int first) { return coming.take(lane) + (phase + start(first)) % run + lane; }, lane, x_e, y_e);
        }
      }
      colours.one_by_one([&] { add_at([&](int b) { return place[b]; }, y_e, y, patch.unknown_count); });
    }
  }

 private:
  /// Offset of entry (j, j), with which column j begins.
  static constexpr __host__ __device__ int start(int j) { return j * n - j * (j - 1) / 2; }

  /// The matrices of a warp's cells of a patch, panel by panel. Functions are called by all lanes together.
  struct Panels {
    const T* matrix;  ///< of the next panel to fetch
    T* room;          ///< of the warp
    int cells;        ///< remaining ones, from that panel's on
    int panel = 0, fetched_to = 0, taken_from = 0;

    __device__ void fetch(int lane) {
      if (cells > 0) {
        const T* from = matrix + start(panel * together);
        const int skip = static_cast<int>(reinterpret_cast<std::uintptr_t>(from) / sizeof(T) % run);
        const int runs = (skip + start(min((panel + 1) * together, n)) - start(panel * together) + run - 1) / run;
        T* to = room + fetched_to * panel_room;
        for (int k = lane; k < runs; k += threads_per_warp)
          __pipeline_memcpy_async(to + k * run, from - skip + k * run, run * sizeof(T));
        fetched_to = fetched_to + 1 < ring ? fetched_to + 1 : 0;
        if (++panel == panels) {
          panel = 0;
          matrix += warps * packed;
          --cells;
        }
      }
      __pipeline_commit();
    }
    /// Returns the panel after the one taken last, which is then free.
    __device__ const T* take(int lane) {
      __syncwarp();
      fetch(lane);
      __pipeline_wait_prior(ahead_of_use);
      __syncwarp();
      const T* at = room + taken_from * panel_room;
      taken_from = taken_from + 1 < ring ? taken_from + 1 : 0;
      return at;
    }
  };

  /// Entry (i, first + c) is panel_at(first)[c (n - first - 1) - c (c - 1) / 2 - first + i].
  template <class PanelAt>
  __device__ static void multiply(const PanelAt& panel_at, int lane, const T (&x_e)[rows], T (&y_e)[rows]) {
#pragma unroll
    for (int block = 0; block < rows; ++block) {
      const int end = min(n, (block + 1) * threads_per_warp);
#pragma unroll 1
      for (int first = block * threads_per_warp; first < end; first += together) {
        const T* panel = panel_at(first) - first;
        T k[together][rows];
#pragma unroll
        for (int c = 0; c < together; ++c)
#pragma unroll
          for (int b = block; b < rows; ++b) {
            const int j = first + c, i = b * threads_per_warp + lane;
            const bool stored = (b > block || j <= i) && (b + 1 < rows || i < n) && (block + 1 < rows || j < n);
            k[c][b] = stored ? panel[c * (n - 1 - first) - c * (c - 1) / 2 + b * threads_per_warp] : T(0);
          }
        T above[together];
#pragma unroll
        for (int c = 0; c < together; ++c) {
          const int of_column = first % threads_per_warp + c;  // the lane that has its row
          const T x_j = __shfl_sync(all_lanes, x_e[block], of_column);
          above[c] = lane == of_column ? T(0) : k[c][block] * x_e[block];
          y_e[block] += k[c][block] * x_j;
#pragma unroll
          for (int b = block + 1; b < rows; ++b) {
            y_e[b] += k[c][b] * x_j;
            above[c] += k[c][b] * x_e[b];
          }
        }
        const int column = lane - first % threads_per_warp;
        const T sum = __shfl_sync(all_lanes, sum_of_column(above), threads_per_warp / together * (column % together));
        if (0 <= column && column < together) y_e[block] += sum;
      }
    }
  }
};

/// The diagonals of the element matrices in place of a product: y does not depend on x. One thread a cell.
template <class T>
struct LmaDiagonalCells {
  static constexpr int threads = 128, blocks_per_multiprocessor = 8;

  LmaLayout<T> layout;
  const T* values;
  const std::int32_t* matrix_of_slot;  ///< null if each slot has its own

  __device__ void operator()(const Patches& all, const CellPatch& patch, const T*, T* y, T*) const {
    for (int first = 0; first < patch.cells; first += threads) {
      const int cell = first + static_cast<int>(threadIdx.x);
      CellColours(all, patch, first, first + threads, cell).one_by_one([&] {
        const std::int64_t slot = patch.first_slot + cell;
        const std::int64_t matrix = matrix_of_slot != nullptr ? matrix_of_slot[slot] : slot;
        for (int i = 0; i < layout.dofs; ++i)
          if (const int place = place_of(all, slot, i); place < patch.unknown_count)
            y[place] += values[layout.index(matrix, i, i)];
      });
    }
  }

 private:
  /// Local index of a slot's dof, as in CellPatches::place_index.
  __device__ int place_of(const Patches& all, std::int64_t slot, int dof) const {
    constexpr int group = CellPatches::group;
    const int n = layout.dofs;
    return all.local_indices[!layout.columns ? slot / group * group * ((n + 1) / 2 * 2) + dof / 2 * 2 * group +
                                                   slot % group * 2 + dof % 2
                                             : slot * n + dof];
  }
};

}  // namespace femcg::operators::cuda
