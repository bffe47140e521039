#pragma once

// Sums over a grid for each column of a multi-vector, in a fixed order: two runs give the same bits.

#include <algorithm>

#include "operators/backend/cuda/reductions.cuh"
#include "operators/backend/multi_vector.hpp"

namespace femcg::operators::cuda {

/// Distribution of rows of `stride` interleaved values over the threads of a warp: `lanes` adjacent threads have a row,
/// each of them `packs` packs of `width` adjacent values. Pack p of a lane is pack p lanes + lane of the row, so that
/// the lanes' accesses are contiguous.
template <class T, int stride_, int most_lanes = 8>
struct LaneLayout {
  static constexpr int stride = stride_;
  static constexpr int width = std::min<int>(stride, 16 / sizeof(T));
  static constexpr int lanes = std::min(stride / width, most_lanes), packs = stride / width / lanes;

  /// A lane's values of a row of X or Y.
  struct Part {
    T of[packs][width];
  };
  struct alignas(width * sizeof(T)) Pack {
    T of[width];
  };
  __device__ static Part load(const T* row, int lane) {
    Part part;
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      const Pack pack = *reinterpret_cast<const Pack*>(row + (p * lanes + lane) * width);
#pragma unroll
      for (int j = 0; j < width; ++j) part.of[p][j] = pack.of[j];
    }
    return part;
  }
  __device__ static void store(const Part& part, T* row, int lane) {
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      Pack pack;
#pragma unroll
      for (int j = 0; j < width; ++j) pack.of[j] = part.of[p][j];
      *reinterpret_cast<Pack*>(row + (p * lanes + lane) * width) = pack;
    }
  }
  /// Column of value j of a lane's pack p.
  __device__ static constexpr int column(int p, int lane, int j) { return (p * lanes + lane) * width + j; }
};

/// Partial sums of the blocks of a grid, N per column.
struct ColumnParts {
  double* of_block;   ///< [blocks][N][stride]
  unsigned* arrived;  ///< blocks that have arrived; zero between launches
};

/// Memory of ColumnParts, for grids of at most `blocks` blocks with `sums` sums each.
class ColumnPartsStorage {
 public:
  ColumnPartsStorage() = default;
  ColumnPartsStorage(std::int64_t blocks, std::int64_t sums)
      : of_block_(blocks * sums, Device::cuda), arrived_(zeros_on_gpu<unsigned>(1)) {}
  ColumnParts parts() { return {of_block_.data(), arrived_.data()}; }

 private:
  Vector<double> of_block_;
  Vector<unsigned> arrived_;
};

/// Most warps in a block that calls sum_columns_of_grid.
constexpr int most_warps_of_sums = 16;

/// Sums over the grid the rows of `of_warps`, [warps][sums] in shared memory: the last block to arrive adds up the
/// parts in the order of the blocks and calls take(s, sum). Returns true in that block. `sums` is a power of two. Every
/// thread of the grid calls it once, at its end.
template <class Take>
__device__ bool sum_warps_of_grid(double* of_warps, int sums, ColumnParts parts, const Take& take) {
  const int mine = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int lane = mine % threads_per_warp, warp = mine / threads_per_warp, warps = threads / threads_per_warp;
  const auto add_warps = [&](const auto& done) {
    __syncthreads();
    for (int s = mine; s < sums; s += threads) {
      double sum = 0;
      for (int w = 0; w < warps; ++w) sum += of_warps[w * sums + s];
      done(s, sum);
    }
  };
  add_warps([&](int s, double sum) { parts.of_block[std::int64_t{blockIdx.x} * sums + s] = sum; });
  if (!last_to_arrive(parts.arrived, gridDim.x)) return false;
  // A warp loads the sums of as many blocks as fit in its lanes.
  const int blocks = max(1, threads_per_warp / sums);
  for (int s = lane % sums; s < sums; s += threads_per_warp) {
    double sum = 0;
    for (unsigned block = warp * blocks + lane / sums % blocks; block < gridDim.x; block += warps * blocks)
      sum += __ldcg(parts.of_block + std::int64_t{block} * sums + s);
    for (int distance = sums; distance < threads_per_warp; distance *= 2)
      sum += __shfl_xor_sync(all_lanes, sum, distance);
    if (lane < sums) of_warps[warp * sums + s] = sum;
  }
  add_warps(take);
  return true;
}

/// Sums the threads' values over the grid, N sums per column, N a power of two, and calls take(n, column, sum) in the
/// last block. Returns true in that block. A thread's lane in its row is threadIdx.x % Layout::lanes.
template <class Layout, int N, class Take>
__device__ bool sum_columns_of_grid(const double (&mine)[N][Layout::packs][Layout::width], ColumnParts parts,
                                    const Take& take) {
  constexpr int sums = N * Layout::stride;
  __shared__ double of_warps[most_warps_of_sums * sums];
  const int lane = static_cast<int>(threadIdx.x) % threads_per_warp;
  const int warp = static_cast<int>(threadIdx.x) / threads_per_warp;
#pragma unroll
  for (int n = 0; n < N; ++n)
#pragma unroll
    for (int p = 0; p < Layout::packs; ++p)
#pragma unroll
      for (int j = 0; j < Layout::width; ++j) {
        double sum = mine[n][p][j];
#pragma unroll
        for (int distance = threads_per_warp / 2; distance >= Layout::lanes; distance /= 2)
          sum += __shfl_xor_sync(all_lanes, sum, distance);
        if (lane < Layout::lanes) of_warps[warp * sums + n * Layout::stride + Layout::column(p, lane, j)] = sum;
      }
  return sum_warps_of_grid(of_warps, sums, parts,
                           [&](int s, double sum) { take(s / Layout::stride, s % Layout::stride, sum); });
}

}  // namespace femcg::operators::cuda
