#pragma once

// What every .cu of femcg stands on: checked calls, the stream that all work is given to, launches.

#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace femcg::operators::cuda {

constexpr int threads_a_warp = 32;
constexpr unsigned all_lanes = 0xffffffffU;

/// Throws std::runtime_error, which says what was being done and what the runtime calls the failure.
inline void check(cudaError_t status, const char* doing) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(doing) + ": " + cudaGetErrorString(status));
}

/// The stream that all of femcg's kernels and copies are given to, in order. It can be captured into a graph.
cudaStream_t stream();

/// How many blocks of a kernel the GPU holds at once: a grid that large has every block resident, goes over its work in
/// strides, and adds up one partial sum a block.
template <class... Parameters>
std::int64_t resident_blocks(void (*kernel)(Parameters...), int threads, std::size_t shared_bytes = 0) {
  int device = 0, multiprocessors = 0, blocks = 0;
  check(cudaGetDevice(&device), "asking for the GPU");
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device), "asking for multiprocessors");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_bytes), "asking for occupancy");
  return std::int64_t{multiprocessors} * blocks;
}

/// Launches a kernel, if there is anything to do, and checks that it could be launched.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), std::int64_t blocks, int threads, std::size_t shared_bytes,
            Arguments&&... arguments) {
  if (blocks == 0) return;
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), shared_bytes, stream()>>>(
      std::forward<Arguments>(arguments)...);
  check(cudaGetLastError(), "launching a kernel");
}

/// Launches a kernel whose blocks wait for each other: the GPU holds all of them at once, or the launch fails.
template <class... Parameters, class... Arguments>
void launch_resident(void (*kernel)(Parameters...), std::int64_t blocks, int threads, std::size_t shared_bytes,
                     Arguments&&... arguments) {
  if (blocks == 0) return;
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(static_cast<unsigned>(blocks));
  configuration.blockDim = dim3(static_cast<unsigned>(threads));
  configuration.dynamicSmemBytes = shared_bytes;
  configuration.stream = stream();
  configuration.attrs = &cooperative;
  configuration.numAttrs = 1;
  check(cudaLaunchKernelEx(&configuration, kernel, std::forward<Arguments>(arguments)...), "launching a kernel");
}

}  // namespace femcg::operators::cuda
