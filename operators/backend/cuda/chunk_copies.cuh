#pragma once

// Chunks of data that are copied from the host one after the other while the GPU works on the previous chunk (Ortega et
// al. 2013).

#include <array>

#include "operators/backend/launch.cuh"
#include "operators/backend/vector.hpp"

namespace femcg::operators::cuda {

/// Copies from page-locked host memory into alternating buffers, on a stream of its own. In a sweep over all chunks 0,
/// 1, ... each uses buffer number % buffers:
///
///   begin();  send(0); ... send(buffers - 1);
///   for each chunk:  await(chunk);  kernels on stream() that read its buffer;  release(chunk);  send(chunk + buffers);
///
/// A copy waits for the last kernels that read its buffer, and a kernel for the copy of its chunk; both on the device.
/// The host does not wait unless it asks to, so that a sweep can be captured in a CUDA graph: a sweep waits for no
/// event from before its begin(), and stream() has waited for all its copies at its end.
class ChunkCopies {
 public:
  static constexpr int buffers = 2;  ///< two suffice: a copy takes much longer than the work with a chunk

  explicit ChunkCopies(std::int64_t buffer_bytes)
      : buffer_bytes_(buffer_bytes), memory_(buffers * buffer_bytes, Device::cuda) {}
  /// Waits for copies in flight, since their source may be freed next.
  ~ChunkCopies() {
    cudaStreamSynchronize(copies_.of);
    cudaStreamSynchronize(stream());
  }
  ChunkCopies(const ChunkCopies&) = delete;
  ChunkCopies& operator=(const ChunkCopies&) = delete;

  char* buffer(std::int64_t chunk) { return memory_.data() + chunk % buffers * buffer_bytes_; }

  /// Orders the copies of a sweep after all earlier work of the device.
  void begin() {
    record(begun_, stream());
    wait(copies_.of, begun_);
  }
  /// Enqueues the copy of a chunk of `bytes`, at most those of a buffer.
  void send(std::int64_t chunk, const char* from, std::int64_t bytes) {
    if (chunk >= buffers) wait(copies_.of, released_[chunk % buffers]);
    if (bytes > 0)  // ELLPACK stores nothing for rows without entries
      check(cudaMemcpyAsync(buffer(chunk), from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, copies_.of),
            "copying from the host");
    record(arrived_[chunk % buffers], copies_.of);
  }
  /// Blocks the host until a chunk has been copied, so that its source may be overwritten.
  void await_copied(std::int64_t chunk) {
    check(cudaEventSynchronize(arrived_[chunk % buffers].of), "copying from the host");
  }
  /// Makes later kernels of stream() wait for the copy of the chunk.
  void await(std::int64_t chunk) { wait(stream(), arrived_[chunk % buffers]); }
  /// Marks the kernels launched so far as the last readers of a chunk.
  void release(std::int64_t chunk) { record(released_[chunk % buffers], stream()); }

 private:
  struct Event {
    Event() { check(cudaEventCreateWithFlags(&of, cudaEventDisableTiming), "making an event"); }
    ~Event() { cudaEventDestroy(of); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    cudaEvent_t of{};
  };
  struct Stream {
    Stream() { check(cudaStreamCreateWithFlags(&of, cudaStreamNonBlocking), "making a stream"); }
    ~Stream() { cudaStreamDestroy(of); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    cudaStream_t of{};
  };
  static void record(const Event& event, cudaStream_t on) {
    check(cudaEventRecord(event.of, on), "recording an event");
  }
  static void wait(cudaStream_t waiting, const Event& event) {
    check(cudaStreamWaitEvent(waiting, event.of, 0), "waiting for an event");
  }

  std::int64_t buffer_bytes_;
  Vector<char> memory_;
  Stream copies_;
  Event begun_;
  std::array<Event, buffers> arrived_, released_;
};

}  // namespace femcg::operators::cuda
