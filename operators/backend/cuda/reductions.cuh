#pragma once

// Sums over a grid in a fixed order: two runs give the same bits.

#include "operators/backend/launch.cuh"
#include "operators/backend/vector.hpp"

namespace femcg::operators::cuda {

/// Blocks of a group: the last block of a group to arrive adds up its parts, the last group to arrive the groups.
/// Nearly all grids are one group, since waiting for a second arrival takes 2 to 3 microseconds at the end of a kernel.
constexpr unsigned blocks_per_group = 4096;

/// Partial sums of the blocks of a grid, N per block.
template <int N>
struct Parts {
  double* of_block;          ///< [blocks][N]
  double* of_group;          ///< [groups][N]
  unsigned* arrived;         ///< arrived blocks of each group; zero between launches
  unsigned* groups_arrived;  ///< arrived groups; zero between launches
};

/// Memory of Parts, for grids of at most `blocks` blocks.
template <int N>
class PartsStorage {
 public:
  explicit PartsStorage(std::int64_t blocks)
      : groups_((blocks + blocks_per_group - 1) / blocks_per_group),
        of_block_(blocks * N, Device::cuda),
        of_group_(groups_ * N, Device::cuda),
        arrived_(zeros_on_gpu<unsigned>(groups_ + 1)) {}
  Parts<N> parts() { return {of_block_.data(), of_group_.data(), arrived_.data(), arrived_.data() + groups_}; }

 private:
  std::int64_t groups_;
  Vector<double> of_block_, of_group_;
  Vector<unsigned> arrived_;
};

/// Values of shared memory per sum over a block, one a warp.
constexpr int numbers_to_sum_block = 32;

/// N sums over the block, known to thread 0. Called by all threads of the block, whose number is a multiple of 32.
/// `of_warp` is shared memory [N][numbers_to_sum_block] for this call alone.
template <int N>
__device__ void sums_of_block(double (&values)[N], double* of_warp) {
  const unsigned lane = threadIdx.x % threads_per_warp, warp = threadIdx.x / threads_per_warp;
  const auto add_lanes = [&] {
    for (int distance = threads_per_warp / 2; distance > 0; distance /= 2)
#pragma unroll
      for (int n = 0; n < N; ++n) values[n] += __shfl_down_sync(all_lanes, values[n], distance);
  };
  add_lanes();
  if (lane == 0)
#pragma unroll
    for (int n = 0; n < N; ++n) of_warp[n * numbers_to_sum_block + warp] = values[n];
  __syncthreads();
  const unsigned warps = blockDim.x / threads_per_warp;
  if (warp == 0) {
#pragma unroll
    for (int n = 0; n < N; ++n) values[n] = lane < warps ? of_warp[n * numbers_to_sum_block + lane] : 0.0;
    add_lanes();
  }
  __syncthreads();
}

/// A single sum.
__device__ inline double sum_of_block(double value, double* of_warp) {
  double values[1] = {value};
  sums_of_block(values, of_warp);
  return values[0];
}
__device__ inline double sum_of_block(double value) {
  __shared__ double of_warp[numbers_to_sum_block];
  return sum_of_block(value, of_warp);
}

/// True in the last of `expected` blocks that call it. Called by all threads of the block.
__device__ inline bool last_to_arrive(unsigned* arrived, unsigned expected) {
  __syncthreads();
  bool last = false;
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicInc(arrived, expected - 1) == expected - 1;
  }
  last = __syncthreads_or(last);
  if (last) __threadfence();
  return last;
}

/// Adds up `count` parts in a fixed order; the sums are known to thread 0.
template <int N>
__device__ void add_parts(const double* parts, unsigned count, double (&sums)[N], double* of_warp) {
#pragma unroll
  for (int n = 0; n < N; ++n) sums[n] = 0;
#pragma unroll 4
  for (unsigned part = threadIdx.x; part < count; part += blockDim.x)
#pragma unroll
    for (int n = 0; n < N; ++n) sums[n] += __ldcg(parts + std::int64_t{N} * part + n);
  sums_of_block(sums, of_warp);
}

/// Sums each thread's N values over the grid: the last block of a group to arrive adds up the group's parts in a fixed
/// order, the last group to arrive the groups. Returns true in the block that has done so, whose thread 0 then knows
/// the sums. Called once by every thread of the grid, at its end. `of_warp` as for sums_of_block.
template <int N>
__device__ bool sums_of_grid(const double (&values)[N], Parts<N> parts, double (&sums)[N], double* of_warp) {
#pragma unroll
  for (int n = 0; n < N; ++n) sums[n] = values[n];
  sums_of_block(sums, of_warp);
  if (threadIdx.x == 0)
    for (int n = 0; n < N; ++n) parts.of_block[std::int64_t{N} * blockIdx.x + n] = sums[n];

  const unsigned group = blockIdx.x / blocks_per_group, groups = (gridDim.x + blocks_per_group - 1) / blocks_per_group;
  const unsigned first = group * blocks_per_group, blocks = min(blocks_per_group, gridDim.x - first);
  if (!last_to_arrive(parts.arrived + group, blocks)) return false;
  add_parts(parts.of_block + std::int64_t{N} * first, blocks, sums, of_warp);
  if (groups > 1) {
    if (threadIdx.x == 0)
      for (int n = 0; n < N; ++n) parts.of_group[std::int64_t{N} * group + n] = sums[n];
    if (!last_to_arrive(parts.groups_arrived, groups)) return false;
    add_parts(parts.of_group, groups, sums, of_warp);
  }
  return true;
}
/// The same; that thread calls take(sums).
template <int N, class Take>
__device__ void sum_of_grid(const double (&values)[N], Parts<N> parts, const Take& take, double* of_warp) {
  double sums[N];
  if (sums_of_grid(values, parts, sums, of_warp) && threadIdx.x == 0) take(sums);
}
template <int N, class Take>
__device__ void sum_of_grid(const double (&values)[N], Parts<N> parts, const Take& take) {
  __shared__ double of_warp[N * numbers_to_sum_block];
  sum_of_grid(values, parts, take, of_warp);
}

}  // namespace femcg::operators::cuda
