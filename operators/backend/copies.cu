// Copies between the host and a GPU. For pageable memory the driver copies with one thread, which also faults in
// untouched pages, at one or two GB/s. Here all threads of the host copy pieces to or from page-locked memory while the
// previous piece is on the link.

#include <algorithm>
#include <mutex>
#include <optional>

#include "operators/backend/device.hpp"
#include "operators/backend/host_copies.hpp"
#include "operators/backend/launch.cuh"
#include "operators/backend/memory.hpp"

namespace femcg::operators {

namespace {

using cuda::check;

constexpr std::int64_t piece = 16 << 20, worth_staging = 2 * piece;

/// RAII event without timing.
struct Event {
  Event() { check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event"); }
  ~Event() { cudaEventDestroy(event); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record() const { check(cudaEventRecord(event, cuda::stream()), "recording an event"); }
  void await() const { check(cudaEventSynchronize(event), "copying"); }
  cudaEvent_t event{};
};

/// Double buffer of page-locked memory.
class Staging {
 public:
  Staging() : memory_(2 * piece) {}

  void to_gpu(const char* from, char* to, std::int64_t bytes) {
    for (std::int64_t at = 0, turn = 0; at < bytes; at += piece, turn = 1 - turn) {
      const std::int64_t size = std::min(piece, bytes - at);
      if (at >= 2 * piece) free_[turn].await();
      copy_on_host(from + at, of(turn), size);
      copy(of(turn), to + at, size);
      free_[turn].record();
    }
  }
  void to_host(const char* from, char* to, std::int64_t bytes) {
    for (std::int64_t at = 0, turn = 0; at < bytes + piece; at += piece, turn = 1 - turn) {
      if (at < bytes) {
        copy(from + at, of(turn), std::min(piece, bytes - at));
        free_[turn].record();
      }
      if (at == 0) continue;
      free_[1 - turn].await();
      copy_on_host(of(1 - turn), to + at - piece, std::min(piece, bytes - (at - piece)));
    }
  }

 private:
  char* of(std::int64_t turn) { return memory_.data() + turn * piece; }
  static void copy(const char* from, char* to, std::int64_t size) {
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(size), cudaMemcpyDefault, cuda::stream()), "copying");
  }

  PageLocked memory_;
  Event free_[2];
};

/// True for page-locked memory, from which the GPU copies asynchronously.
bool is_page_locked(const void* memory) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, memory), "asking where memory is");
  return attributes.type != cudaMemoryTypeUnregistered;
}

/// The staging buffers, allocated by the first copy that needs them and kept, since allocating page-locked memory is
/// slow. Null where the host grants none.
Staging* staging() {
  static Staging* const made = []() -> Staging* {
    try {
      return new Staging;  // never deleted: the CUDA runtime is gone first at exit
    } catch (const OutOfMemory&) {
      return nullptr;  // copies are slower without
    }
  }();
  return made;
}

/// Copies through pinned staging buffers where that pays; returns whether it did.
bool copy_staged(const void* from, Device from_device, void* to, std::int64_t bytes) {
  static std::mutex one_copy;
  if (bytes < worth_staging || is_page_locked(from_device == Device::host ? from : to)) return false;
  const std::unique_lock lock(one_copy, std::try_to_lock);
  Staging* const through = lock.owns_lock() ? staging() : nullptr;
  if (through == nullptr) return false;
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  from_device == Device::host ? through->to_gpu(source, target, bytes) : through->to_host(source, target, bytes);
  synchronize(Device::cuda);
  return true;
}

}  // namespace

void copy_bytes(const void* from, Device from_device, void* to, Device to_device, std::int64_t bytes) {
  if (bytes == 0) return;
  if (from_device == Device::host && to_device == Device::host) return copy_on_host(from, to, bytes);
  if (from_device != to_device && copy_staged(from, from_device, to, bytes)) return;
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, cuda::stream()), "copying");
  if (from_device != to_device) synchronize(Device::cuda);
}

}  // namespace femcg::operators
