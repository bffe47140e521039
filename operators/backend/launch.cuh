#pragma once

// Checked calls, the current stream, and kernel launches, for all .cu files of femcg.

#include <cuda_runtime.h>

#include <nv/target>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace femcg::operators::cuda {

constexpr int threads_per_warp = 32;
constexpr unsigned all_lanes = 0xffffffffU;

/// Throws std::runtime_error with what was being done and the runtime's error string.
inline void check(cudaError_t status, const char* doing) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(doing) + ": " + cudaGetErrorString(status));
}

/// The stream of all kernels and copies of femcg. It can be captured into a CUDA graph.
cudaStream_t stream();

/// A limit of the current GPU.
inline int device_limit(cudaDeviceAttr which) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "asking for the GPU");
  check(cudaDeviceGetAttribute(&value, which, device), "asking for the GPU's limits");
  return value;
}
inline int multiprocessors() { return device_limit(cudaDevAttrMultiProcessorCount); }
/// Most shared memory of a block in bytes, static plus dynamic.
inline std::int64_t shared_bytes_of_block() { return device_limit(cudaDevAttrMaxSharedMemoryPerBlockOptin); }

/// Number of blocks of a kernel that the GPU holds concurrently: in a grid of so many, every block is resident, works
/// in a grid-stride loop, and writes one partial sum.
template <class... Parameters>
std::int64_t resident_blocks(void (*kernel)(Parameters...), int threads, std::size_t shared_bytes = 0) {
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_bytes), "asking for occupancy");
  return std::int64_t{multiprocessors()} * blocks;
}

/// Loads a kernel onto the GPU now, to keep lazy loading out of its first launch.
template <class... Parameters>
void load(void (*kernel)(Parameters...)) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), "loading a kernel");
}

/// Number of blocks for at least so many threads.
constexpr std::int64_t blocks_of(std::int64_t threads, int threads_of_block) {
  return (threads + threads_of_block - 1) / threads_of_block;
}

/// Index of this thread in a one-dimensional grid.
__device__ inline std::int64_t thread_number() { return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }

/// Launches a kernel, unless the grid is empty, and checks for launch errors.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), std::int64_t blocks, int threads, std::size_t shared_bytes,
            Arguments&&... arguments) {
  if (blocks == 0) return;
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), shared_bytes, stream()>>>(
      std::forward<Arguments>(arguments)...);
  check(cudaGetLastError(), "launching a kernel");
}

template <class... Parameters, class... Arguments>
void launch_with(cudaLaunchAttribute attribute, void (*kernel)(Parameters...), std::int64_t blocks, int threads,
                 std::size_t shared_bytes, Arguments&&... arguments) {
  if (blocks == 0) return;
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(static_cast<unsigned>(blocks));
  configuration.blockDim = dim3(static_cast<unsigned>(threads));
  configuration.dynamicSmemBytes = shared_bytes;
  configuration.stream = stream();
  configuration.attrs = &attribute;
  configuration.numAttrs = 1;
  check(cudaLaunchKernelEx(&configuration, kernel, std::forward<Arguments>(arguments)...), "launching a kernel");
}

/// Launches a kernel whose blocks wait for each other: all blocks are resident, or the launch fails.
template <class... Parameters, class... Arguments>
void launch_cooperative(void (*kernel)(Parameters...), std::int64_t blocks, int threads, std::size_t shared_bytes,
                        Arguments&&... arguments) {
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  launch_with(cooperative, kernel, blocks, threads, shared_bytes, std::forward<Arguments>(arguments)...);
}

/// True if await_previous() waits in the version of a kernel that the GPU loads, i.e. a version compiled for compute
/// capability 9.0 or newer.
bool waits_for_previous(const void* kernel);

/// Launches a kernel with programmatic stream serialization: its blocks start as the blocks of the previous kernel end,
/// or earlier if that kernel has called await_previous() and leaves room. This hides the 2 to 3 microseconds between
/// two kernels. Each thread calls await_previous() before it writes, and before it reads results of other kernels; data
/// that was there when the operator was made may be read earlier. Results of other kernels must not be read by __ldg,
/// which may return lines cached before the wait. Equals launch() if the GPU has no version of the kernel that waits.
template <class... Parameters, class... Arguments>
void launch_early(void (*kernel)(Parameters...), std::int64_t blocks, int threads, std::size_t shared_bytes,
                  Arguments&&... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = waits_for_previous(reinterpret_cast<const void*>(kernel)) ? 1 : 0;
  launch_with(early, kernel, blocks, threads, shared_bytes, std::forward<Arguments>(arguments)...);
}

/// Allows the next kernel to start if it is launched early, and waits for the end of all previous kernels.
__device__ inline void await_previous() {
  NV_IF_TARGET(NV_PROVIDES_SM_90, (cudaTriggerProgrammaticLaunchCompletion(); cudaGridDependencySynchronize();))
}

}  // namespace femcg::operators::cuda
