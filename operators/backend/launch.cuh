#pragma once

// Checked calls, the stream of all work, and kernel launches, for every .cu of femcg.

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

/// Throws std::runtime_error, which says what was being done and what the runtime calls the failure.
inline void check(cudaError_t status, const char* doing) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(doing) + ": " + cudaGetErrorString(status));
}

/// The stream that all of femcg's kernels and copies are given to, in order. It can be captured into a graph.
cudaStream_t stream();

/// One of the GPU's limits.
inline int device_limit(cudaDeviceAttr which) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "asking for the GPU");
  check(cudaDeviceGetAttribute(&value, which, device), "asking for the GPU's limits");
  return value;
}
inline int multiprocessors() { return device_limit(cudaDevAttrMultiProcessorCount); }
/// The most shared memory that a block may ask for, with what its kernel has by itself.
inline std::int64_t shared_bytes_of_block() { return device_limit(cudaDevAttrMaxSharedMemoryPerBlockOptin); }

/// How many blocks of a kernel the GPU holds at once: a grid that large has every block resident, goes over its work in
/// strides, and adds up one partial sum a block.
template <class... Parameters>
std::int64_t resident_blocks(void (*kernel)(Parameters...), int threads, std::size_t shared_bytes = 0) {
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_bytes), "asking for occupancy");
  return std::int64_t{multiprocessors()} * blocks;
}

/// Has the GPU load a kernel now, and not at its first launch, which would take longer than others.
template <class... Parameters>
void load(void (*kernel)(Parameters...)) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), "loading a kernel");
}

/// Blocks that have so many threads together.
constexpr std::int64_t blocks_of(std::int64_t threads, int threads_of_block) {
  return (threads + threads_of_block - 1) / threads_of_block;
}

/// The number of this thread in a grid of one dimension.
__device__ inline std::int64_t thread_number() { return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }

/// Launches a kernel, if there is anything to do, and checks that it could be launched.
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

/// Launches a kernel whose blocks wait for each other: the GPU holds all of them at once, or the launch fails.
template <class... Parameters, class... Arguments>
void launch_cooperative(void (*kernel)(Parameters...), std::int64_t blocks, int threads, std::size_t shared_bytes,
                        Arguments&&... arguments) {
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  launch_with(cooperative, kernel, blocks, threads, shared_bytes, std::forward<Arguments>(arguments)...);
}

/// True if await_previous() waits in the version of a kernel that the GPU loads: one compiled for compute capability
/// 9.0 or newer.
bool waits_for_previous(const void* kernel);

/// Launches a kernel whose blocks come onto the GPU as the blocks of the kernel before go, or sooner if that one has
/// called await_previous() and leaves room, instead of after its end: what takes 2 to 3 microseconds between two
/// kernels then happens meanwhile. Each of its threads calls await_previous() before it writes, and before it reads
/// what other kernels write; what was there when the operator was made it may read earlier. What other kernels write it
/// reads by no __ldg, whose lines may be older than the wait. As launch() where the GPU has no version of the kernel
/// that waits.
template <class... Parameters, class... Arguments>
void launch_early(void (*kernel)(Parameters...), std::int64_t blocks, int threads, std::size_t shared_bytes,
                  Arguments&&... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = waits_for_previous(reinterpret_cast<const void*>(kernel)) ? 1 : 0;
  launch_with(early, kernel, blocks, threads, shared_bytes, std::forward<Arguments>(arguments)...);
}

/// Lets the next kernel's blocks come if it is launched early, and waits for the end of all kernels before this one.
__device__ inline void await_previous() {
  NV_IF_TARGET(NV_PROVIDES_SM_90, (cudaTriggerProgrammaticLaunchCompletion(); cudaGridDependencySynchronize();))
}

}  // namespace femcg::operators::cuda
