#pragma once

// Which thread has which rows, where these are sorted by length in windows.

#include "operators/backend/launch.cuh"

namespace femcg::operators::cuda {

/// The positions of rows that a thread takes. Blocks go over them in strides of the grid, each stride turned by a block
/// against the last, every eighth by one more, and within a block the warps change places: sorting puts long rows at
/// certain places of a window and of a run, and no warp shall meet them more often than another.
template <int block_threads>
class TurningPositions {
 public:
  /// The next one, which may lie behind the last row.
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
