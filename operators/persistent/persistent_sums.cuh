#pragma once

// The sums of one iteration over all threads of a resident grid. Each block publishes its part of each sum, and its
// warps look at the parts of all blocks until they are of this round. Sums are in fixed order: two runs give the same
// bits.

#include "operators/backend/cuda/block_exchange.cuh"
#include "operators/backend/cuda/product.cuh"
#include "operators/persistent/row_layout.hpp"

namespace femcg::operators::cuda {

constexpr int persistent_warps = persistent_threads / threads_per_warp;

/// What is summed in an iteration.
enum PersistentSum { sum_of_uw, sum_of_ru, sum_of_rr, resident_sums };

/// Warps that look at the parts of one sum, a lane a block.
constexpr int warps_per_persistent_sum = persistent_warps / resident_sums;

/// Parts of two rounds: some blocks still look at the last one's while others write the next one's.
__host__ __device__ constexpr std::int64_t resident_parts(std::int64_t blocks) { return 2 * resident_sums * blocks; }

/// In shared memory.
struct PersistentSums {
  double of_warp[resident_sums][persistent_warps];  ///< parts of this block's warps; zero where a warp has no rows
  double of_blocks[resident_sums][warps_per_persistent_sum];  ///< parts of all blocks, added up by that many warps
};

__device__ inline Stamped<double>* parts_of(Stamped<double>* parts, int sum, std::uint64_t round) {
  return parts + (round % 2 * resident_sums + sum) * gridDim.x;
}

/// Adds up two sums over a warp in the shuffles of one: half of the lanes go on with each.
__device__ inline void leave_two(double of_ru, double of_rr, PersistentSums& sums) {
  const unsigned lane = threadIdx.x % threads_per_warp, warp = threadIdx.x / threads_per_warp;
  const bool upper = lane >= threads_per_warp / 2;
  double mine = upper ? of_rr : of_ru;
  mine += __shfl_xor_sync(all_lanes, upper ? of_ru : of_rr, threads_per_warp / 2);
  mine = sum_of_lanes<threads_per_warp / 2>(mine);
  if (lane % (threads_per_warp / 2) == 0) sums.of_warp[upper ? sum_of_rr : sum_of_ru][warp] = mine;
}
__device__ inline void leave_one(double of_uw, PersistentSums& sums) {
  const double sum = sum_of_lanes<threads_per_warp>(of_uw);
  if (threadIdx.x % threads_per_warp == 0) sums.of_warp[sum_of_uw][threadIdx.x / threads_per_warp] = sum;
}

/// One warp publishes the block's part, after a barrier. `ordered` is whether others may rely on it for what the block
/// did before.
template <bool ordered>
__device__ void publish_part(int sum, PersistentSums& sums, Stamped<double>* parts, std::uint64_t round) {
  const unsigned lane = threadIdx.x % threads_per_warp;
  const double part = sum_of_lanes<threads_per_warp>(sums.of_warp[sum][lane]);
  if (lane != 0) return;
  if (gridDim.x == 1) {
    sums.of_blocks[sum][0] = part;
    return;
  }
  if constexpr (ordered) fence_of_device();
  publish(parts_of(parts, sum, round) + blockIdx.x, part, round);
}

/// All warps wait for the parts of sums first to last. A barrier must follow.
template <bool ordered>
__device__ void wait_for_parts(int first, int last, PersistentSums& sums, Stamped<double>* parts, std::uint64_t round) {
  const int lane = static_cast<int>(threadIdx.x) % threads_per_warp,
            warp = static_cast<int>(threadIdx.x) / threads_per_warp;
  const int sum = warp / warps_per_persistent_sum, share = warp % warps_per_persistent_sum;
  const unsigned begin = share * threads_per_warp;
  if (gridDim.x == 1 || sum < first || sum > last || begin >= gridDim.x) return;
  const Stamped<double>* of_sum = parts_of(parts, sum, round);
  double total = 0;
  for (unsigned block = begin + lane; block < gridDim.x; block += warps_per_persistent_sum * threads_per_warp) {
    Stamped<double> seen = look_at(of_sum + block);
    while (!is_of(seen, round)) seen = look_at(of_sum + block);
    total += seen.value;
  }
  if constexpr (ordered) fence_of_device();
  __syncwarp();
  total = sum_of_lanes<threads_per_warp>(total);
  if (lane == 0) sums.of_blocks[sum][share] = total;
}

/// The sum over all blocks, after a barrier.
__device__ inline double total_of(int sum, const PersistentSums& sums) {
  const int used =
      min((static_cast<int>(gridDim.x) + threads_per_warp - 1) / threads_per_warp, warps_per_persistent_sum);
  double total = 0;
  for (int share = 0; share < used; ++share) total += sums.of_blocks[sum][share];
  return total;
}

}  // namespace femcg::operators::cuda
