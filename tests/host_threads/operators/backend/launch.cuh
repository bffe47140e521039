#pragma once

// Replaces operators/backend/launch.cuh to compile the code of a thread block for the processor (test_cell_kernels):
// the block's threads become threads, its synchronisations barriers. Warps do not run in lockstep here, so that a
// missing barrier shows, at the latest in ThreadSanitizer.

#include <algorithm>
#include <barrier>
#include <bit>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#define __device__
#define __host__
#define __global__
#define __launch_bounds__(...)
#define __shared__ static

struct ThreadIndex {
  unsigned x = 0;
};
inline thread_local ThreadIndex threadIdx, blockIdx, blockDim{1}, gridDim{1};

struct double2 {
  double x, y;
};
struct float2 {
  float x, y;
};

template <class T>
T __ldcs(const T* from) {
  return *from;
}
template <class T>
T __ldg(const T* from) {
  return *from;
}
inline int __popc(unsigned bits) { return std::popcount(bits); }
using std::min;

namespace femcg::operators::cuda {

constexpr int threads_per_warp = 32;

inline std::int64_t thread_number() { return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
constexpr std::int64_t blocks_of(std::int64_t threads, int threads_of_block) {
  return (threads + threads_of_block - 1) / threads_of_block;
}
constexpr unsigned all_lanes = 0xffffffffU;

struct Barriers {
  explicit Barriers(int threads) : block(threads), shown(static_cast<std::size_t>(threads)) {
    for (int first = 0; first < threads; first += threads_per_warp) warps.emplace_back(threads_per_warp);
  }
  std::barrier<> block;
  std::deque<std::barrier<>> warps;
  std::vector<double> shown;  ///< to the other lanes of a warp
};
inline thread_local Barriers* barriers = nullptr;

/// Calls work() in each thread of a block, and waits for all.
template <class Work>
void run_block(int threads, const Work& work) {
  Barriers of_block(threads);
  std::vector<std::jthread> running;
  for (int thread = 0; thread < threads; ++thread)
    running.emplace_back([&, thread] {
      threadIdx.x = static_cast<unsigned>(thread);
      blockDim.x = static_cast<unsigned>(threads);
      barriers = &of_block;
      work();
    });
}

}  // namespace femcg::operators::cuda

inline void __syncthreads() { femcg::operators::cuda::barriers->block.arrive_and_wait(); }
inline void __syncwarp() {
  using namespace femcg::operators::cuda;
  barriers->warps[threadIdx.x / threads_per_warp].arrive_and_wait();
}

/// Value of a lane of the warp.
template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  using namespace femcg::operators::cuda;
  barriers->shown[threadIdx.x] = static_cast<double>(value);
  __syncwarp();
  const double found = barriers->shown[threadIdx.x / threads_per_warp * threads_per_warp + static_cast<unsigned>(lane)];
  __syncwarp();
  return static_cast<T>(found);
}
template <class T>
T __shfl_xor_sync(unsigned lanes, T value, int mask) {
  return __shfl_sync(lanes, value, static_cast<int>(threadIdx.x % femcg::operators::cuda::threads_per_warp) ^ mask);
}
