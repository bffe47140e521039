#pragma once

// Copies from the GPU's memory to shared memory that run beside the threads (compute capability 9.0: the tensor memory
// accelerator's copies without a tensor). One thread asks for them; whoever needs the data waits for their barrier.

#include <cuda/ptx>

#include "operators/cuda.cuh"

namespace femcg::operators::cuda {

/// Addresses and sizes of these copies are multiples of this.
constexpr int bulk_alignment = 16;

__host__ __device__ constexpr std::int64_t bulk_rounded(std::int64_t bytes) {
  return (bytes + bulk_alignment - 1) / bulk_alignment * bulk_alignment;
}

/// A barrier in shared memory that counts the bytes of one set of copies after the other.
class BulkBarrier {
 public:
  /// By one thread, before a __syncthreads().
  __device__ void prepare() {
    ::cuda::ptx::mbarrier_init(&state_, 1);
    ::cuda::ptx::fence_mbarrier_init(::cuda::ptx::sem_release, ::cuda::ptx::scope_cluster);
  }
  /// By one thread, before it asks for copies of so many bytes in all.
  __device__ void expect(std::uint32_t bytes) {
    ::cuda::ptx::mbarrier_arrive_expect_tx(::cuda::ptx::sem_release, ::cuda::ptx::scope_cta, ::cuda::ptx::space_shared,
                                           &state_, bytes);
  }
  __device__ void copy(void* to, const void* from, std::uint32_t bytes) {
    ::cuda::ptx::cp_async_bulk(::cuda::ptx::space_cluster, ::cuda::ptx::space_global, to, from, bytes, &state_);
  }
  /// Until the n-th set of copies is there, counted from 0, modulo 2.
  __device__ void wait(unsigned parity) {
    while (!::cuda::ptx::mbarrier_try_wait_parity(&state_, parity)) {
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace femcg::operators::cuda
