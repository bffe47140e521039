#pragma once

// Assignment of rows to threads if rows are sorted by length in windows.

#include "operators/backend/launch.cuh"

namespace femcg::operators::cuda {

/// Positions of the rows of a thread. Blocks go over them in a grid-stride loop, where each stride rotates the blocks
/// by one, every eighth by one more, and warps are permuted within a block: sorting puts long rows at certain positions
/// of windows and runs, and these should not always go to the same warps.
template <int block_threads>
class TurningPositions {
 public:
  /// The next position, which may be behind the last row.
  __device__ std::int64_t next() {
    constexpr unsigned warps = block_threads / threads_per_warp;
    const unsigned warp = (threadIdx.x / threads_per_warp + 5 * turn_) % warps;
    const std::int64_t position =
        (first_ + block_) * block_threads + warp * threads_per_warp + threadIdx.x % threads_per_warp;
    first_ += gridDim.x;
    ++turn_;
    block_ = (block_ + (turn_ % warps == 0 ? 2 : 1)) % gridDim.x;
    return position;
  }

 private:
  std::int64_t first_ = 0;  ///< block of the stride
  unsigned block_ = blockIdx.x, turn_ = 0;
};

}  // namespace femcg::operators::cuda
