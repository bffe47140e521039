#pragma once

// What a thread block does with the triangles or tetrahedra of one patch in double precision, 16 cells per warp, by the
// instructions that multiply small matrices. For four of the tables of simplex_cells.cuh at a time:
//   G (16 cells x 4 d) = X (16 x n) B,   F = D G cell by cell,   Y (16 x n) += F B',   B (n x 4 d) the tables.
// Columns of B, and rows of B', are put in such an order that a lane's numbers of G are those that it needs of F, and
// those of Y belong to the dofs whose x it has (small_matrices.cuh).

#include <cuda_pipeline_primitives.h>

#include <vector>

#include "operators/backend/cuda/small_matrices.cuh"
#include "operators/cell_loops/cell_patches.cuh"
#include "operators/matrix_free/tensor_geometry.cuh"

namespace femcg::operators::cuda {

template <int d, int n, CellGeometry kind>
struct WarpSimplices {
  static_assert(kind == CellGeometry::affine || kind == CellGeometry::stored);
  static constexpr int threads = 128, cells_per_warp = 16, wave = threads / threads_per_warp * cells_per_warp;
  /// Registers for all that is at hand are worth more than warps, as measured on an H200.
  static constexpr int blocks_per_multiprocessor = n <= 15 ? 4 : n <= 20 ? 3 : 2;
  static constexpr int columns_at_once = n <= 20 ? 4 : 2;
  static constexpr int entries = d * (d + 1) / 2;

 private:
  static constexpr int steps = (n + 3) / 4;  ///< of four dofs
  static constexpr int gradient_tiles = (d + 1) / 2, dof_tiles = (steps + 1) / 2;
  static constexpr int of_gradients = gradient_tiles * steps, a_group = of_gradients + d * dof_tiles;  ///< factors
  static constexpr int table_numbers = a_group * threads_per_warp;
  /// Whether the tables come to shared memory four at a time, while the four before are worked on.
  static constexpr bool staged = kind == CellGeometry::stored;
  /// Or all at once for a patch: of affine cells there are so few. Fewer still stay in the L1 cache.
  static constexpr bool kept = !staged && n >= 20;

 public:
  /// Polynomials of which the gradients on an affine cell are.
  static constexpr int affine_tables = n == 35 ? 20 : n == 20 ? 10 : n == 15 ? 10 : n == 10 ? (d == 2 ? 6 : 4) : 0;
  static constexpr int scratch_size = staged ? 2 * table_numbers : kept ? (affine_tables + 3) / 4 * table_numbers : 0;

  const double* gradients;  ///< laid_out()
  int tables;
  const double* factors;       ///< interleaved: 1 (affine) or `tables` points
  const std::uint16_t* kinds;  ///< of slots, where the factors are of kinds of cells; else null

  /// Tables x axes x dofs as right factors, 32 numbers each, a lane's at its place: of each group of four tables those
  /// of B, tile by tile of eight columns, which are two axes of four tables; then those of B', axis by axis.
  static std::vector<double> laid_out(const std::vector<double>& gradients, int tables) {
    std::vector<double> factors;
    const auto add = [&](int table, int axis, int dof) {
      const bool there = table < tables && axis < d && dof < n;
      factors.push_back(there ? gradients[static_cast<std::size_t>((table * d + axis) * n + dof)] : 0.0);
    };
    for (int first = 0; first < tables; first += 4) {
      for (int tile = 0; tile < gradient_tiles; ++tile)
        for (int step = 0; step < steps; ++step)
          for (int lane = 0; lane < threads_per_warp; ++lane)
            add(first + lane / 8, 2 * tile + lane / 4 % 2, 4 * step + lane % 4);
      for (int axis = 0; axis < d; ++axis)
        for (int tile = 0; tile < dof_tiles; ++tile)
          for (int lane = 0; lane < threads_per_warp; ++lane)
            add(first + lane % 4, axis, 4 * (2 * tile + lane / 4 % 2) + lane / 8);
    }
    return factors;
  }

  __device__ void operator()(const Patches& all, const CellPatch& patch, const double* x, double* y,
                             double* scratch) const {
    begin_all_tables(scratch);
    bool begun = false;
    wave_by_wave(all, patch, x, y, [&](int, auto&... of_wave) {
      if (!begun) await_tables();
      begun = true;
      multiply(patch, patch.first_slot, of_wave..., scratch);
    });
  }

  /// Begins to bring all tables to shared memory, where they are after await_tables().
  __device__ void begin_all_tables(double* scratch) const {
    if (!kept) return;
    const int numbers = (tables + 3) / 4 * table_numbers;
    for (int i = 2 * static_cast<int>(threadIdx.x); i < numbers; i += 2 * threads)
      __pipeline_memcpy_async(scratch + i, gradients + i, 2 * sizeof(double));
    __pipeline_commit();
  }
  static __device__ void await_tables() {
    if (!kept) return;
    __pipeline_wait_prior(0);
    __syncthreads();
  }

  /// Calls multiply(first slot of the wave in the patch, slot, lane, of_x, of_y) for each wave of cells.
  template <class Multiply>
  static __device__ void wave_by_wave(const Patches& all, const CellPatch& patch, const double* x, double* y,
                                      const Multiply& multiply) {
    const int lane = static_cast<int>(threadIdx.x) % threads_per_warp;
    const int row = static_cast<int>(threadIdx.x) / threads_per_warp * cells_per_warp + lane / 4;
    for (int first = 0; first < patch.slots; first += wave) {
      const int slot[2] = {first + row, first + row + cells_per_warp / 2};
      std::uint32_t places[steps];  // of the first cell's dof, and above it of the second's
      double of_x[steps][2], of_y[dof_tiles][4];
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        const int dof = 4 * step + lane % 4;
        places[step] = place_of(all, patch, slot[0], dof) | place_of(all, patch, slot[1], dof) << 16;
#pragma unroll
        for (int c = 0; c < 2; ++c) of_x[step][c] = x[place(places[step], c)];
      }
      const WaveColours colours(all, patch, first, first + wave);
      const int mine[2] = {colour_of(all, patch, slot[0]), colour_of(all, patch, slot[1])};
      multiply(first, slot, lane, of_x, of_y);
      colours.one_by_one([&](int colour) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          if (mine[c] != colour) continue;
          double of_cell[steps];
#pragma unroll
          for (int step = 0; step < steps; ++step) of_cell[step] = of_y[step / 2][2 * c + step % 2];
          add_at([&](int step) { return place(places[step], c); }, of_cell, y, patch.unknown_count);
        }
      });
    }
  }

 private:
  /// As CellPatches::place_index has it; of what is not there, where x is zero.
  static __device__ std::uint32_t place_of(const Patches& all, const CellPatch& patch, int slot, int dof) {
    constexpr int group = CellPatches::group;
    if (slot >= patch.slots || dof >= n) return patch.unknown_count;
    return __ldcs(all.places + (patch.first_slot + slot) / group * (group * ((n + 1) / 2 * 2)) + dof / 2 * 2 * group +
                  slot % group * 2 + dof % 2);
  }

  static __device__ int place(std::uint32_t places, int c) { return static_cast<int>(places >> 16 * c & 0xffffU); }

  /// D of a cell, at one point of many where it is stored. What belongs to the patch's first slot is at `base`.
  __device__ void load_factor(const CellPatch& patch, std::int64_t base, int slot, int point,
                              double (&factor)[entries]) const {
    constexpr int group = CellPatches::group;
    const std::int64_t points = kind == CellGeometry::affine ? 1 : tables;
    const bool there = slot < patch.cells && point < points, once = kind == CellGeometry::affine && kinds != nullptr;
    std::int64_t at = base + slot;
    if (once && there) at = __ldcs(kinds + at);
#pragma unroll
    for (int e = 0; e < entries; ++e)
      factor[e] = there ? load_number(factors + at / group * (points * entries * group) +
                                          (point * entries + e) * group + at % group,
                                      once)
                        : 0.0;
  }

  /// Begins to bring four tables to shared memory, and has the L2 cache fetch D at their points. `slot` is that of the
  /// warp's first cell.
  __device__ void begin_tables(const CellPatch& patch, std::int64_t base, int slot, int first, double* to) const {
    const double* from = gradients + first / 4 * table_numbers;
    for (int i = 2 * static_cast<int>(threadIdx.x); i < table_numbers; i += 2 * threads)
      __pipeline_memcpy_async(to + i, from + i, 2 * sizeof(double));
    __pipeline_commit();
    if (kind != CellGeometry::stored) return;
    // D of 16 cells are a line of memory, one for each of a point's numbers.
    constexpr int group = CellPatches::group, lines = 4 * entries;
    const int line = static_cast<int>(threadIdx.x) % threads_per_warp;
    const std::int64_t at = base + slot;
    if (line < lines && first + line / entries < tables && slot < patch.slots)
      asm volatile("prefetch.global.L2 [%0];" ::"l"(factors + at / group * (std::int64_t{tables} * entries * group) +
                                                    (first * entries + line) * group + at % group));
  }

 public:
  /// of_y = sum_m G_m' D_m G_m of_x of a warp's cells. What belongs to the patch's first slot is at `base`.
  __device__ void multiply(const CellPatch& patch, std::int64_t base, const int (&slot)[2], int lane,
                           const double (&of_x)[steps][2], double (&of_y)[dof_tiles][4], double* scratch) const {
    double factor[2][entries];
    if (kind == CellGeometry::affine)
#pragma unroll
      for (int c = 0; c < 2; ++c) load_factor(patch, base, slot[c], 0, factor[c]);
#pragma unroll
    for (auto& sums : of_y)
#pragma unroll
      for (double& sum : sums) sum = 0;
    const int first_slot = slot[0] - lane / 4;
    if (staged) begin_tables(patch, base, first_slot, 0, scratch);
    const double* next = gradients + lane;
#pragma unroll 1
    for (int first = 0; first < tables; first += 4, next += table_numbers) {
      const double* here = scratch + (staged ? first / 4 % 2 : first / 4) * table_numbers + lane;
      if (staged) {
        __pipeline_wait_prior(0);
        __syncthreads();  // these are there for all, and those before are done with
        if (first + 4 < tables)
          begin_tables(patch, base, first_slot, first + 4, scratch + (first / 4 + 1) % 2 * table_numbers);
      }
      const auto of_table = [&](int number) {
        return staged || kept ? here[number * threads_per_warp] : __ldg(next + number * threads_per_warp);
      };
      if (kind == CellGeometry::stored)
#pragma unroll
        for (int c = 0; c < 2; ++c) load_factor(patch, base, slot[c], first + lane % 4, factor[c]);
      double sums[gradient_tiles][4] = {};
#pragma unroll
      for (int step = 0; step < steps; ++step)
#pragma unroll
        for (int tile = 0; tile < gradient_tiles; ++tile)
          multiply_add(of_x[step], of_table(tile * steps + step), sums[tile]);
      double flux[d][2];
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        double gradient[d];
#pragma unroll
        for (int axis = 0; axis < d; ++axis) gradient[axis] = sums[axis / 2][2 * c + axis % 2];
        symmetric_times(factor[c], 1.0, gradient);
#pragma unroll
        for (int axis = 0; axis < d; ++axis) flux[axis][c] = gradient[axis];
      }
#pragma unroll
      for (int axis = 0; axis < d; ++axis)
#pragma unroll
        for (int tile = 0; tile < dof_tiles; ++tile)
          multiply_add(flux[axis], of_table(of_gradients + axis * dof_tiles + tile), of_y[tile]);
    }
  }
};

/// The same where some cells are affine and others are not, wave by wave (MatrixFreeInputs::group_numbers).
template <int d, int n>
struct MixedWarpSimplices {
  using Affine = WarpSimplices<d, n, CellGeometry::affine>;
  using Others = WarpSimplices<d, n, CellGeometry::stored>;
  static_assert(Affine::wave == mixed_wave(sizeof(double), n));
  static constexpr int threads = Others::threads, blocks_per_multiprocessor = Others::blocks_per_multiprocessor;
  static constexpr int scratch_size = Others::scratch_size + Affine::scratch_size;

  Affine affine;
  Others others;
  const std::int32_t* group_numbers;

  __device__ void operator()(const Patches& all, const CellPatch& patch, const double* x, double* y,
                             double* scratch) const {
    constexpr int group = CellPatches::group;
    double* of_affine = scratch + Others::scratch_size;
    affine.begin_all_tables(of_affine);
    bool begun = false;
    Others::wave_by_wave(all, patch, x, y, [&](int first, auto&... of_wave) {
      if (!begun) Affine::await_tables();
      begun = true;
      const int number = __ldg(group_numbers + (patch.first_slot + first) / group);
      if (number < 0)
        affine.multiply(patch, std::int64_t{-1 - number} * group - first, of_wave..., of_affine);
      else
        others.multiply(patch, std::int64_t{number} * group - first, of_wave..., scratch);
    });
  }
};

}  // namespace femcg::operators::cuda
