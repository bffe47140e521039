#pragma once

// Products of a thread block with the triangles or tetrahedra of one patch, 16 cells per warp, by matrix instructions.
// For four of the tables of simplex_cells.cuh at a time:
//   G (16 cells x 4 d) = X (16 x n) B,   F = D G cell by cell,   Y (16 x n) += F B',   B (n x 4 d) the tables.
// Columns of B, and rows of B', are permuted such that a lane's entries of G are those that it needs for F, and those
// of Y belong to the dofs whose x it has (small_matrices.cuh).

#include <cuda_pipeline_primitives.h>

#include <vector>

#include "operators/backend/cuda/small_matrices.cuh"
#include "operators/cellwise/cell_loops/cell_patches.cuh"
#include "operators/cellwise/matrix_free/cells/tensor_geometry.cuh"

namespace femcg::operators::cuda {

template <class T, int d, int n, CellGeometry kind>
struct WarpSimplices {
  static_assert(kind == CellGeometry::affine || kind == CellGeometry::stored);
  static constexpr int threads = 128, cells_per_warp = 16, wave = threads / threads_per_warp * cells_per_warp;
  static constexpr bool is_single = sizeof(T) == 4;
  /// Registers for all live data are worth more than additional warps, as measured on an H200.
  static constexpr int blocks_per_multiprocessor = n <= 15 || (is_single && n <= 20) ? 4 : n <= 20 || is_single ? 3 : 2;
  static constexpr int entries = d * (d + 1) / 2;

 private:
  using Factor = MatrixFactor<T>;

  static constexpr int steps = (n + 3) / 4;  ///< of four dofs
  static constexpr int gradient_tiles = (d + 1) / 2, dof_tiles = (steps + 1) / 2;
  static constexpr int of_gradients = gradient_tiles * steps, a_group = of_gradients + d * dof_tiles;  ///< factors
  static constexpr int table_numbers = a_group * threads_per_warp;
  /// True if the tables are prefetched to shared memory four at a time, together with D at their points
  /// (factors_staged), for a warp's cells, with points offset by half of the banks. For D of tetrahedra of degree 3
  /// this would cost one of three resident blocks.
  static constexpr bool staged = kind == CellGeometry::stored, factors_staged = staged && n != 20;
  static constexpr int point_numbers = entries * cells_per_warp + 8,
                       factor_numbers = factors_staged ? 4 * point_numbers : 0;
  static constexpr int of_factor = sizeof(Factor) / sizeof(T);
  static constexpr int stage_numbers = of_factor * table_numbers + threads / threads_per_warp * factor_numbers;
  /// True if all tables are copied once per patch: affine cells have so few. Even fewer tables stay in the L1 cache.
  static constexpr bool kept = !staged && n >= 20;

  /// The dof of the lanes with `remainder` modulo 4 in a step: two steps have pairs of dofs, which are adjacent in
  /// CellPatches::place_index.
  static constexpr int dof_of(int step, int remainder) {
    return step >= steps                        ? n
           : step == steps - 1 && step % 2 == 0 ? 4 * step + remainder
                                                : 8 * (step / 2) + 2 * remainder + step % 2;
  }

 public:
  /// Dimension of the polynomial space of gradients on an affine cell.
  static constexpr int affine_tables = n == 35 ? 20 : n == 20 ? 10 : n == 15 ? 10 : n == 10 ? (d == 2 ? 6 : 4) : 0;
  static constexpr int scratch_size = staged ? 2 * stage_numbers
                                      : kept ? (affine_tables + 3) / 4 * table_numbers * of_factor
                                             : 0;

  const T* gradients;  ///< see laid_out()
  int tables;
  const T* factors;              ///< interleaved: of 1 (affine) or `tables` points
  const std::uint16_t* classes;  ///< of slots, if factors are stored per congruence class; else null

  /// Converts tables [tables][axes][dofs] to right factors, 32 MatrixFactor<T> each, one per lane: for each group of
  /// four tables those of B, by tiles of eight columns, which are two axes of four tables; then those of B', axis by
  /// axis.
  static std::vector<double> laid_out(const std::vector<double>& gradients, int tables) {
    std::vector<double> factors;
    const auto add = [&](int table, int axis, int dof) {
      const bool there = table < tables && axis < d && dof < n;
      const Factor factor = matrix_factor(
          there ? static_cast<T>(gradients[static_cast<std::size_t>((table * d + axis) * n + dof)]) : T(0));
      if constexpr (is_single)
        factors.insert(factors.end(), {factor.high, factor.low});
      else
        factors.push_back(factor.value);
    };
    for (int first = 0; first < tables; first += 4) {
      for (int tile = 0; tile < gradient_tiles; ++tile)
        for (int step = 0; step < steps; ++step)
          for (int lane = 0; lane < threads_per_warp; ++lane)
            add(first + lane / 8, 2 * tile + lane / 4 % 2, dof_of(step, lane % 4));
      for (int axis = 0; axis < d; ++axis)
        for (int tile = 0; tile < dof_tiles; ++tile)
          for (int lane = 0; lane < threads_per_warp; ++lane)
            add(first + lane % 4, axis, dof_of(2 * tile + lane / 4 % 2, lane / 8));
    }
    return factors;
  }

  /// A lane's raw data of its two cells of a wave, prefetched: loads are in flight until first use.
  struct Ahead {
    std::uint32_t local_indices[2][(steps + 1) / 2];  ///< of the cells, for two steps together
    std::uint16_t classes[2];                         ///< of affine cells, if factors are stored per congruence class

    __device__ int place(int c, int step, int lane, int none) const {
      const int place = static_cast<int>(local_indices[c][step / 2] >> step % 2 * 16 & 0xffffU);
      // The last pair may have one dof only.
      return n % 2 == 1 && step % 2 == 1 && step == steps - 1 && dof_of(step, lane % 4) == n ? none : place;
    }
  };
  /// Prefetches for a patch's first wave.
  __device__ Ahead ahead(const Patches& all, const CellPatch& patch) const {
    return ahead(all, patch, 0, patch.first_slot);
  }
  /// Prefetches for the wave that begins with slot `first` of the patch.
  __device__ Ahead ahead(const Patches& all, const CellPatch& patch, int first, std::int64_t base) const {
    const int lane = static_cast<int>(threadIdx.x) % threads_per_warp;
    const int slot[2] = {first + row(), first + row() + cells_per_warp / 2};
    Ahead of;
#pragma unroll
    for (int c = 0; c < 2; ++c) load_places(all, patch, slot[c], lane, of.local_indices[c]);
    if (kind != CellGeometry::affine) return of;
    if (classes != nullptr)
#pragma unroll
      for (int c = 0; c < 2; ++c) of.classes[c] = slot[c] < patch.cells ? __ldcs(classes + base + slot[c]) : 0;
    else if (lane < entries && slot[0] - lane / 4 < patch.slots)  // one cache line of 16 cells each
      prefetch(factors_of(base + slot[0] - lane / 4) + lane * CellPatches::group);
    return of;
  }

  __device__ void operator()(const Patches& all, const CellPatch& patch, const T* x, T* y, T* scratch,
                             const Ahead& first_ahead) const {
    waves(all, patch, 0, patch.first_slot, first_ahead, x, y, scratch);
  }
  /// The waves from slot `first` of the patch on. `base`: index of the data of the patch's slot 0.
  __device__ void waves(const Patches& all, const CellPatch& patch, int first, std::int64_t base, const T* x, T* y,
                        T* scratch) const {
    waves(all, patch, first, base, ahead(all, patch, first, base), x, y, scratch);
  }

 private:
  __device__ void waves(const Patches& all, const CellPatch& patch, int first, std::int64_t base, Ahead now, const T* x,
                        T* y, T* scratch) const {
    begin_all_tables(scratch);
    for (; first < patch.slots; first += wave) one_wave(all, patch, first, base, now, x, y, scratch);
  }

  /// Starts copying all tables of affine cells to shared memory, before the first wave of a patch.
  __device__ void begin_all_tables(T* scratch) const {
    if (!kept) return;
    begin_copy(gradients, (tables + 3) / 4 * table_numbers, scratch);
    __pipeline_commit();
  }

  /// Starts copying `count` factors to shared memory, 16 bytes at a time.
  static __device__ void begin_copy(const T* from, int count, T* to) {
    constexpr int run = 16 / sizeof(T);
    for (int i = run * static_cast<int>(threadIdx.x); i < of_factor * count; i += run * threads)
      __pipeline_memcpy_async(to + i, from + i, 16);
  }

  /// Processes the wave that begins with slot `first` of the patch, with its prefetched data `now`; `now` is then that
  /// of the next wave.
  __device__ void one_wave(const Patches& all, const CellPatch& patch, int first, std::int64_t base, Ahead& now,
                           const T* x, T* y, T* scratch) const {
    const int lane = static_cast<int>(threadIdx.x) % threads_per_warp;
    const int slot[2] = {first + row(), first + row() + cells_per_warp / 2};
    const Ahead here = now;
    Factor of_x[steps][2];
    T of_y[dof_tiles][4];
#pragma unroll
    for (int step = 0; step < steps; ++step)
#pragma unroll
      for (int c = 0; c < 2; ++c) of_x[step][c] = matrix_factor(x[here.place(c, step, lane, patch.unknown_count)]);
    now = ahead(all, patch, first + wave, base);
    const WaveColours colours(all, patch, first, first + wave);
    const int mine[2] = {colour_of(all, patch, slot[0]), colour_of(all, patch, slot[1])};
    if (kept && first == 0) {
      __pipeline_wait_prior(0);
      __syncthreads();
    }
    multiply(patch, base, slot, lane, here, of_x, of_y, scratch);
    colours.one_by_one([&](int colour) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        if (mine[c] != colour) continue;
        T of_cell[steps];
#pragma unroll
        for (int step = 0; step < steps; ++step) of_cell[step] = of_y[step / 2][2 * c + step % 2];
        const int none = patch.unknown_count;
        add_at([&](int step) { return here.place(c, step, lane, none); }, of_cell, y, none);
      }
    });
  }

  /// Number in the wave of a lane's first cell.
  static __device__ int row() {
    const int lane = static_cast<int>(threadIdx.x) % threads_per_warp,
              warp = static_cast<int>(threadIdx.x) / threads_per_warp;
    return warp * cells_per_warp + lane / 4;
  }

  /// Loads a cell's local indices; those of missing cells and dofs are unknown_count, where x is zero.
  static __device__ void load_places(const Patches& all, const CellPatch& patch, int slot, int lane,
                                     std::uint32_t (&local_indices)[(steps + 1) / 2]) {
    constexpr int group = CellPatches::group, pairs = (n + 1) / 2;
    const std::uint32_t none = patch.unknown_count;
    const auto* of_slot = reinterpret_cast<const std::uint32_t*>(all.local_indices) +
                          (patch.first_slot + slot) / group * (group * pairs) + slot % group;
#pragma unroll
    for (int k = 0; k < (steps + 1) / 2; ++k) {
      const int dof = dof_of(2 * k, lane % 4);
      const std::uint32_t* pair = of_slot + dof / 2 * group;
      if (slot >= patch.slots || dof >= n)
        local_indices[k] = none | none << 16;
      else if (2 * k + 1 < steps)
        local_indices[k] = __ldcs(pair);
      else
        local_indices[k] = __ldcs(reinterpret_cast<const std::uint16_t*>(pair) + dof % 2);
    }
  }

  /// Loads D of the cell with the data of a slot, at one of several points if factors are stored.
  __device__ void load_factor(bool there, std::int64_t slot, int point, T (&factor)[entries]) const {
    constexpr int group = CellPatches::group;
    const bool once = kind == CellGeometry::affine && classes != nullptr;
#pragma unroll
    for (int e = 0; e < entries; ++e)
      factor[e] = there ? load_number(factors_of(slot) + (point * entries + e) * group, once) : T(0);
  }

  static __device__ void prefetch(const void* line) { asm volatile("prefetch.global.L2 [%0];" ::"l"(line)); }

  /// Begin of the stored factors of a slot's cell.
  __device__ const T* factors_of(std::int64_t slot) const {
    constexpr int group = CellPatches::group;
    const std::int64_t points = kind == CellGeometry::affine ? 1 : tables;
    return factors + slot / group * (points * entries * group) + slot % group;
  }

  /// Starts copying four tables and D at their points, zero behind the last, to shared memory, and prefetches the
  /// following D to the L2 cache. `slot`: of the warp's first cell.
  __device__ void begin_stage(const CellPatch& patch, std::int64_t base, int slot, int first, T* to) const {
    constexpr int group = CellPatches::group, run = 2;
    begin_copy(gradients + first / 4 * (of_factor * table_numbers), table_numbers, to);
    // D of 16 cells is one cache line, or half of one, for each of a point's entries.
    constexpr int lines = 4 * entries, runs = cells_per_warp / run;
    const int lane = static_cast<int>(threadIdx.x) % threads_per_warp,
              warp = static_cast<int>(threadIdx.x) / threads_per_warp;
    const std::int64_t at = base + slot;
    const T* numbers = factors_of(at);
    if constexpr (factors_staged) {
      to += of_factor * table_numbers + warp * factor_numbers;
#pragma unroll
      for (int i = lane; i < lines * runs; i += threads_per_warp) {
        const int point = i / (entries * runs), entry = i / runs % entries, cell = i % runs * run;
        const bool there = slot < patch.slots && first + point < tables;
        __pipeline_memcpy_async(to + point * point_numbers + entry * cells_per_warp + cell,
                                there ? numbers + ((first + point) * entries + entry) * group + cell : factors,
                                run * sizeof(T), there ? 0 : run * sizeof(T));
      }
    }
    __pipeline_commit();
    const bool last = first + 4 >= tables;  // of this wave
    const int ahead = last ? wave : 0, point = (last ? 0 : first + 4) + lane / entries;
    if (lane < lines && point < tables && slot + ahead < patch.slots)
      prefetch(factors_of(at + ahead) + (point * entries + lane % entries) * group);
  }

  /// of_y = sum_m G_m' D_m G_m of_x of a warp's cells. `base`: index of the data of the patch's slot 0.
  __device__ void multiply(const CellPatch& patch, std::int64_t base, const int (&slot)[2], int lane, const Ahead& here,
                           const Factor (&of_x)[steps][2], T (&of_y)[dof_tiles][4], T* scratch) const {
    T factor[2][entries];
    if (kind == CellGeometry::affine)
#pragma unroll
      for (int c = 0; c < 2; ++c)
        load_factor(slot[c] < patch.cells, classes != nullptr ? here.classes[c] : base + slot[c], 0, factor[c]);
#pragma unroll
    for (auto& sums : of_y)
#pragma unroll
      for (T& sum : sums) sum = 0;
    const int first_slot = slot[0] - lane / 4;
    if (staged) begin_stage(patch, base, first_slot, 0, scratch);
    constexpr int group_numbers = of_factor * table_numbers;
    const T* next = gradients;
#pragma unroll 1
    for (int first = 0; first < tables; first += 4, next += group_numbers) {
      const T* stage = scratch + (staged ? first / 4 % 2 * stage_numbers : first / 4 * group_numbers);
      const T* of_group = staged || kept ? stage : next;
      if (staged) {
        __pipeline_wait_prior(0);
        __syncthreads();  // these are visible to all, and the previous ones free
        if (first + 4 < tables)
          begin_stage(patch, base, first_slot, first + 4, scratch + (first / 4 + 1) % 2 * stage_numbers);
      }
      const auto of_table = [&](int number) -> Factor {
        const auto* at = reinterpret_cast<const Factor*>(of_group) + number * threads_per_warp + lane;
        if (staged || kept) return *at;
        if constexpr (is_single) {
          const float2 pair = __ldg(reinterpret_cast<const float2*>(at));
          return {pair.x, pair.y};
        } else {
          return {__ldg(&at->value)};
        }
      };
      if (staged && !factors_staged)
#pragma unroll
        for (int c = 0; c < 2; ++c)
          load_factor(slot[c] < patch.cells && first + lane % 4 < tables, base + slot[c], first + lane % 4, factor[c]);
      T sums[gradient_tiles][4] = {};
#pragma unroll
      for (int step = 0; step < steps; step += 2)
#pragma unroll
        for (int tile = 0; tile < gradient_tiles; ++tile) {
          const int number = tile * steps + step;
          if (step + 1 < steps)
            multiply_add(of_x[step], of_table(number), of_x[step + 1], of_table(number + 1), sums[tile]);
          else
            multiply_add(of_x[step], of_table(number), sums[tile]);
        }
      Factor flux[d][2];
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        T gradient[d];
#pragma unroll
        for (int axis = 0; axis < d; ++axis) gradient[axis] = sums[axis / 2][2 * c + axis % 2];
        if (factors_staged) {
          const T* numbers =
              stage + of_factor * table_numbers + static_cast<int>(threadIdx.x) / threads_per_warp * factor_numbers;
#pragma unroll
          for (int e = 0; e < entries; ++e)
            factor[c][e] = numbers[lane % 4 * point_numbers + e * cells_per_warp + c * (cells_per_warp / 2) + lane / 4];
        }
        symmetric_times(factor[c], T(1), gradient);
#pragma unroll
        for (int axis = 0; axis < d; ++axis) flux[axis][c] = matrix_factor(gradient[axis]);
      }
#pragma unroll
      for (int axis = 0; axis < d; axis += 2)
#pragma unroll
        for (int tile = 0; tile < dof_tiles; ++tile) {
          const int number = of_gradients + axis * dof_tiles + tile;
          if (axis + 1 < d)
            multiply_add(flux[axis], of_table(number), flux[axis + 1], of_table(number + dof_tiles), of_y[tile]);
          else
            multiply_add(flux[axis], of_table(number), of_y[tile]);
        }
    }
  }
};

}  // namespace femcg::operators::cuda
