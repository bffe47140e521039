#pragma once

// Memory of a GPU that the GPUs of other processes on the machine read and write where it lies (CUDA IPC), and how one
// tells the other that something is there.

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

/// Of this GPU, for others to open; zero at first.
class SharedMemory {
 public:
  /// Whole pieces of what CUDA deals out: with less others would see what lies beside it.
  explicit SharedMemory(std::int64_t bytes)
      : memory_((std::max<std::int64_t>(bytes, 1) + piece - 1) / piece * piece, Device::cuda) {
    clear(memory_);
    synchronize(Device::cuda);  // before others write there
  }
  std::byte* data() { return reinterpret_cast<std::byte*>(memory_.data()); }
  const std::byte* data() const { return reinterpret_cast<const std::byte*>(memory_.data()); }
  /// Whereby others find it; empty where CUDA does not grant that.
  std::string handle() {
    cudaIpcMemHandle_t of_memory{};
    if (cudaIpcGetMemHandle(&of_memory, memory_.data()) != cudaSuccess) {
      cudaGetLastError();  // it is not sticky, and has been dealt with
      return "";
    }
    return {reinterpret_cast<const char*>(&of_memory), sizeof of_memory};
  }

 private:
  static constexpr std::int64_t piece = 2 << 20;
  Vector<std::uint8_t> memory_;
};

/// Of another process's GPU.
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
      cudaGetLastError();  // it is not sticky, and has been dealt with
  }
  PeerMemory(PeerMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  PeerMemory& operator=(PeerMemory&&) = delete;
  ~PeerMemory() {
    if (data_ != nullptr) cudaIpcCloseMemHandle(data_);
  }
  /// Null where it cannot be opened.
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

/// The epoch that something is of: what was written before is seen by who reads it, on any GPU of the machine.
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
