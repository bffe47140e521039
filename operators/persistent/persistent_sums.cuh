#pragma once

// Sums of one iteration over all threads of a persistent kernel, on one GPU or several. Each block publishes its part
// of each sum, and its warps poll the parts of all blocks until they carry the epoch. Sums are in a fixed order: two
// runs give the same bits.

#include "operators/backend/cuda/block_exchange.cuh"
#include "operators/backend/cuda/process_sums.cuh"
#include "operators/backend/cuda/product.cuh"
#include "operators/persistent/row_layout.hpp"

namespace femcg::operators::cuda {

constexpr int persistent_warps = persistent_threads / threads_per_warp;

/// Sums of an iteration.
enum PersistentSum { sum_of_uw, sum_of_ru, sum_of_rr, persistent_sums };

/// Warps that poll the parts of one sum, one lane a block.
constexpr int warps_per_persistent_sum = persistent_warps / persistent_sums;

/// Partial sums in shared memory.
struct PersistentSums {
  double of_warp[persistent_sums][persistent_warps];            ///< of this block's warps; zero for warps without rows
  double of_blocks[persistent_sums][warps_per_persistent_sum];  ///< of all blocks, added up by so many warps
};

/// Adds up two sums over a warp with the shuffles of one: each half of the lanes reduces one of them.
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

/// Partial sums of the blocks of a process, exchanged between the blocks: of two epochs, since some blocks still poll
/// those of the last one while others write those of the next.
struct PartsOfBlocks {
  Stamped<double>* parts;

  static constexpr std::int64_t count(std::int64_t blocks) { return 2 * persistent_sums * blocks; }
  __device__ Stamped<double>* of(int sum, std::uint64_t epoch) const {
    return parts + (epoch % 2 * persistent_sums + sum) * gridDim.x;
  }
  __device__ void publish(int sum, double part, std::uint64_t epoch) const {
    cuda::publish(of(sum, epoch) + blockIdx.x, part, epoch);
  }
  __device__ double wait_for(int sum, unsigned block, std::uint64_t epoch) const {
    const Stamped<double>* part = of(sum, epoch) + block;
    Stamped<double> seen = poll(part);
    while (!has_epoch(seen, epoch)) seen = poll(part);
    return seen.value;
  }
};

/// Grid reduction over the blocks of one process.
struct GridReduction {
  static constexpr bool of_processes = false;
  PartsOfBlocks here;

  __device__ unsigned blocks() const { return gridDim.x; }
  __device__ bool has(unsigned) const { return true; }
  /// Called by all lanes of a warp.
  __device__ void publish(int sum, double part, std::uint64_t epoch) const {
    if (threadIdx.x % threads_per_warp == 0) here.publish(sum, part, epoch);
  }
  __device__ double wait_for(int sum, unsigned block, std::uint64_t epoch) const {
    return here.wait_for(sum, block, epoch);
  }
};

/// Reduction over the blocks of all processes: each writes its parts into the memory of all GPUs. Blocks are numbered
/// process by process, with `most` numbers per process.
struct MultiGpuReduction {
  static constexpr bool of_processes = true;
  PartsOfBlocks here;
  int processes, rank, most;
  int blocks_of[most_processes];
  TaggedValue* given[most_processes];  ///< per process, in its memory: count() values

  static std::int64_t count(int processes, int most) { return std::int64_t{2} * persistent_sums * processes * most; }
  __device__ std::int64_t place(int sum, int block, std::uint64_t epoch) const {
    return (static_cast<std::int64_t>(epoch % 2) * persistent_sums + sum) * processes * most + block;
  }
  __device__ unsigned blocks() const { return static_cast<unsigned>(processes * most); }
  __device__ bool has(unsigned block) const { return static_cast<int>(block) % most < blocks_of[block / most]; }
  __device__ void publish(int sum, double part, std::uint64_t epoch) const {
    part = __shfl_sync(all_lanes, part, 0);
    const int lane = static_cast<int>(threadIdx.x) % threads_per_warp;
    if (lane == 0) here.publish(sum, part, epoch);
    const std::int64_t to = place(sum, rank * most + static_cast<int>(blockIdx.x), epoch);
    for (int process = lane; process < processes; process += threads_per_warp)
      if (process != rank) post(given[process] + to, part, static_cast<unsigned>(epoch));
  }
  __device__ double wait_for(int sum, unsigned block, std::uint64_t epoch) const {
    if (static_cast<int>(block) / most == rank) return here.wait_for(sum, block % most, epoch);
    return receive(given[rank] + place(sum, static_cast<int>(block), epoch), static_cast<unsigned>(epoch));
  }
};

/// Publishes the block's part of a sum, by one warp, after a barrier. With `ordered` the block's earlier writes are
/// visible to blocks that have read the part.
template <bool ordered, class Reduction>
__device__ void publish_part(int sum, PersistentSums& sums, const Reduction& reduction, std::uint64_t epoch) {
  const unsigned lane = threadIdx.x % threads_per_warp;
  const double part = sum_of_lanes<threads_per_warp>(sums.of_warp[sum][lane]);
  if (reduction.blocks() == 1) {
    if (lane == 0) sums.of_blocks[sum][0] = part;
    return;
  }
  if (ordered && lane == 0) device_fence();
  reduction.publish(sum, part, epoch);
}

/// Waits for the parts of sums `first` to `last` and adds them up, by all warps. A barrier must follow.
template <bool ordered, class Reduction>
__device__ void wait_for_parts(int first, int last, PersistentSums& sums, const Reduction& reduction,
                               std::uint64_t epoch) {
  const int lane = static_cast<int>(threadIdx.x) % threads_per_warp,
            warp = static_cast<int>(threadIdx.x) / threads_per_warp;
  const int sum = warp / warps_per_persistent_sum, share = warp % warps_per_persistent_sum;
  const unsigned begin = share * threads_per_warp, blocks = reduction.blocks();
  if (blocks == 1 || sum < first || sum > last || begin >= blocks) return;
  double total = 0;
  for (unsigned block = begin + lane; block < blocks; block += warps_per_persistent_sum * threads_per_warp)
    if (reduction.has(block)) total += reduction.wait_for(sum, block, epoch);
  if constexpr (ordered) device_fence();
  __syncwarp();
  total = sum_of_lanes<threads_per_warp>(total);
  if (lane == 0) sums.of_blocks[sum][share] = total;
}

/// The sum over all blocks, after that barrier.
__device__ inline double total_of(int sum, const PersistentSums& sums, unsigned blocks) {
  const int used = min((static_cast<int>(blocks) + threads_per_warp - 1) / threads_per_warp, warps_per_persistent_sum);
  double total = 0;
  for (int share = 0; share < used; ++share) total += sums.of_blocks[sum][share];
  return total;
}

}  // namespace femcg::operators::cuda
