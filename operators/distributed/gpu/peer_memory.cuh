#pragma once

// Memory of a GPU that GPUs of other processes on the host access in place (CUDA IPC), and epochs that one posts to
// another.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "operators/backend/cuda/process_sums.cuh"
#include "operators/backend/launch.cuh"
#include "operators/backend/memory.hpp"
#include "operators/backend/vector.hpp"

namespace femcg::operators::cuda {

/// Memory of this GPU for other processes to open; zero at first.
class SharedMemory {
 public:
  /// Allocates whole multiples of CUDA's allocation granularity: otherwise other processes would see adjacent
  /// allocations.
  explicit SharedMemory(std::int64_t bytes)
      : memory_((std::max<std::int64_t>(bytes, 1) + piece - 1) / piece * piece, Device::cuda) {
    clear(memory_);
    synchronize(Device::cuda);  // before others write to it
  }
  std::byte* data() { return reinterpret_cast<std::byte*>(memory_.data()); }
  const std::byte* data() const { return reinterpret_cast<const std::byte*>(memory_.data()); }
  /// Handle by which other processes open the memory; empty if CUDA grants none.
  std::string handle() {
    cudaIpcMemHandle_t of_memory{};
    if (cudaIpcGetMemHandle(&of_memory, memory_.data()) != cudaSuccess) {
      cudaGetLastError();  // the error is not sticky, and is handled here
      return "";
    }
    return {reinterpret_cast<const char*>(&of_memory), sizeof of_memory};
  }

 private:
  static constexpr std::int64_t piece = 2 << 20;
  Vector<std::uint8_t> memory_;
};

/// Memory of another process's GPU.
class PeerMemory {
 public:
  explicit PeerMemory(const std::string& handle) {
    cudaIpcMemHandle_t of_memory{};
    if (handle.size() != sizeof of_memory) return;
    std::memcpy(&of_memory, handle.data(), sizeof of_memory);
    void* opened = nullptr;
    if (cudaIpcOpenMemHandle(&opened, of_memory, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess)
      data_ = static_cast<std::byte*>(opened);
    else
      cudaGetLastError();  // the error is not sticky, and is handled here
  }
  PeerMemory(PeerMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  PeerMemory& operator=(PeerMemory&&) = delete;
  ~PeerMemory() {
    if (data_ != nullptr) cudaIpcCloseMemHandle(data_);
  }
  /// Null if the memory could not be opened.
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

/// Epoch of an exchange, posted with release and awaited with acquire semantics on all GPUs of the host.
using Epoch = unsigned long long;
__device__ inline void post(Epoch* to, Epoch epoch) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(to), "l"(epoch) : "memory");
}
__device__ inline void wait_for(const Epoch* from, Epoch epoch) {
  Epoch there = 0;
  do asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(there) : "l"(from) : "memory");
  while (there < epoch);
}

}  // namespace femcg::operators::cuda
