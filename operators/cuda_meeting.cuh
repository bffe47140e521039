#pragma once

// Meetings of all blocks of a grid, in which sums are made. Each block publishes its part with the number of the
// meeting on it, and looks at the parts of all others until they have that number: one way through the second-level
// cache from the last block's part to everybody's sum, with no counter in between. Sums are in fixed order: two runs
// give the same bits.
//
// Why it is right, in terms of the PTX memory model. A part and its stamp are one 128-bit access, which is single-copy
// atomic: who sees the stamp has the part. What a block's threads wrote before the meeting is ordered before its parts
// by a barrier of the block and the fence of the thread that publishes; what they read after it, behind the parts that
// they looked at, by a fence and the next barrier. Fence, relaxed store, relaxed load that sees it, fence: that is
// release and acquire, and causality goes on through the barriers to all threads of both blocks. A slot is written
// again two meetings later: its block has then seen everybody's parts of the meeting between, which were published
// after their blocks had read the slot.

#include <cuda/atomic>

#include "operators/cuda_product.cuh"

namespace femcg::operators::cuda {

/// A block's part of a sum, and the meeting that it is for: they are written and read together.
struct alignas(16) StampedPart {
  double part;
  std::uint64_t stamp;
};

__device__ inline void publish(StampedPart* to, double part, std::uint64_t stamp) {
  asm volatile("{\n\t.reg .b128 both;\n\tmov.b128 both, {%1, %2};\n\tst.relaxed.gpu.b128 [%0], both;\n\t}" ::"l"(to),
               "l"(__double_as_longlong(part)), "l"(stamp)
               : "memory");
}

__device__ inline StampedPart look_at(const StampedPart* from) {
  long long part;
  std::uint64_t stamp;
  asm volatile("{\n\t.reg .b128 both;\n\tld.relaxed.gpu.b128 both, [%2];\n\tmov.b128 {%0, %1}, both;\n\t}"
               : "=l"(part), "=l"(stamp)
               : "l"(from)
               : "memory");
  return {__longlong_as_double(part), stamp};
}

/// Orders what this thread did before against what it does after, for all threads of the GPU.
__device__ inline void fence_of_device() {
  ::cuda::atomic_thread_fence(::cuda::memory_order_acq_rel, ::cuda::thread_scope_device);
}

/// One meeting after the other, of all launches that use the same slots.
struct Meetings {
  static constexpr int most_sums = 2;
  static constexpr std::int64_t slots(std::int64_t blocks) { return 2 * most_sums * blocks; }

  StampedPart*
      of_block;         ///< slots(blocks) of them, all zero before the first launch; every second meeting has the same
  std::uint64_t count;  ///< meetings so far
};

/// Adds N values over the grid: all threads have the sums, and see what other blocks wrote before. Every thread of the
/// grid calls it; a block has 1024.
template <int N>
__device__ void meet(double (&values)[N], Meetings& meetings) {
  static_assert(N <= Meetings::most_sums);
  constexpr unsigned warps = 1024 / threads_a_warp, warps_a_sum = warps / N;
  __shared__ double of_warp[N][warps];
  __shared__ double of_blocks[N][warps_a_sum];
  const unsigned lane = threadIdx.x % threads_a_warp, warp = threadIdx.x / threads_a_warp;
  StampedPart* slots = meetings.of_block + meetings.count % 2 * (Meetings::most_sums * gridDim.x);
  const std::uint64_t stamp = ++meetings.count;
#pragma unroll
  for (int n = 0; n < N; ++n) {
    const double sum = sum_of_lanes<threads_a_warp>(values[n]);
    if (lane == 0) of_warp[n][warp] = sum;
  }
  __syncthreads();
  if (warp < N) {
    const double sum = sum_of_lanes<threads_a_warp>(of_warp[warp][lane]);
    if (lane == 0) {
      fence_of_device();
      publish(slots + warp * gridDim.x + blockIdx.x, sum, stamp);
    }
  }
  // Warps share the parts of each sum, a lane a block.
  const unsigned n = warp / warps_a_sum, first = warp % warps_a_sum * threads_a_warp;
  if (n < N && first < gridDim.x) {
    double sum = 0;
    for (unsigned block = first + lane; block < gridDim.x; block += warps_a_sum * threads_a_warp) {
      StampedPart seen;
      do seen = look_at(slots + n * gridDim.x + block);
      while (seen.stamp != stamp);
      sum += seen.part;
    }
    fence_of_device();
    __syncwarp();
    sum = sum_of_lanes<threads_a_warp>(sum);
    if (lane == 0) of_blocks[n][warp % warps_a_sum] = sum;
  }
  __syncthreads();
  const unsigned used = min((gridDim.x + threads_a_warp - 1) / threads_a_warp, warps_a_sum);
#pragma unroll
  for (int k = 0; k < N; ++k) {
    values[k] = 0;
    for (unsigned part = 0; part < used; ++part) values[k] += of_blocks[k][part];
  }
}

}  // namespace femcg::operators::cuda
