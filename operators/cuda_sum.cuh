#pragma once

// Sums over a grid in a fixed order: two runs give the same bits.

#include "operators/cuda.cuh"
#include "operators/vector.hpp"

namespace femcg::operators::cuda {

/// Where the blocks of a grid leave their parts of N sums until the last of them adds the parts up.
template <int N>
struct Parts {
  double* of_block;   ///< blocks x N
  unsigned* arrived;  ///< blocks that are done; zero between launches
};

/// The memory behind Parts, for grids of at most so many blocks.
template <int N>
class PartsStorage {
 public:
  explicit PartsStorage(std::int64_t blocks) : of_block_(blocks * N, Device::cuda), arrived_(1, Device::cuda) {
    check(cudaMemsetAsync(arrived_.data(), 0, sizeof(unsigned), stream()), "clearing a counter");
  }
  Parts<N> parts() { return {of_block_.data(), arrived_.data()}; }

 private:
  Vector<double> of_block_;
  Vector<unsigned> arrived_;
};

/// The sum over a block, known to thread 0. Every thread of the block calls it; threads a block are a multiple of 32.
__device__ inline double sum_of_block(double value) {
  __shared__ double of_warp[32];
  const unsigned lane = threadIdx.x % threads_a_warp, warp = threadIdx.x / threads_a_warp;
  for (int distance = threads_a_warp / 2; distance > 0; distance /= 2)
    value += __shfl_down_sync(all_lanes, value, distance);
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  const unsigned warps = blockDim.x / threads_a_warp;
  if (warp == 0) {
    value = lane < warps ? of_warp[lane] : 0.0;
    for (int distance = threads_a_warp / 2; distance > 0; distance /= 2)
      value += __shfl_down_sync(all_lanes, value, distance);
  }
  __syncthreads();
  return value;
}

/// Adds each thread's N values over the whole grid: the last block to arrive sums the parts in the order of the blocks
/// and hands the N results to `take`, in its thread 0. Every thread of the grid calls it once, at its end.
template <int N, class Take>
__device__ void sum_of_grid(const double (&values)[N], Parts<N> parts, const Take& take) {
  __shared__ bool last;
  for (int n = 0; n < N; ++n) {
    const double sum = sum_of_block(values[n]);
    if (threadIdx.x == 0) parts.of_block[std::int64_t{N} * blockIdx.x + n] = sum;
  }
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicInc(parts.arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  double results[N];
  for (int n = 0; n < N; ++n) {
    double sum = 0;
    for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x)
      sum += __ldcg(parts.of_block + std::int64_t{N} * block + n);
    results[n] = sum_of_block(sum);
  }
  if (threadIdx.x == 0) take(results);
}

}  // namespace femcg::operators::cuda
