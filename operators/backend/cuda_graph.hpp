#pragma once

#include <functional>
#include <memory>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// Device work that is run repeatedly: on a GPU one launch of a CUDA graph instead of many kernel launches.
class CudaGraph {
 public:
  /// Captures what `work` enqueues on the device, without running it. On a GPU `work` must neither synchronize nor
  /// allocate. On the host the function itself is stored.
  CudaGraph(Device device, std::function<void()> work);
  ~CudaGraph();
  CudaGraph(CudaGraph&&) noexcept;
  CudaGraph& operator=(CudaGraph&&) noexcept;

  void run() const;

 private:
  struct Graph;
  std::function<void()> work_;  ///< on the host
  std::unique_ptr<Graph> graph_;
};

/// The stream of all GPU work, a cudaStream_t, for libraries that enqueue work themselves. Throws std::runtime_error
/// where there is no GPU.
void* cuda_work_stream();

/// Asynchronous copy of a small vector from a device to the host: the device does not wait for it.
class AsyncReadback {
 public:
  AsyncReadback(std::int64_t size, Device device);
  ~AsyncReadback();
  AsyncReadback(AsyncReadback&&) noexcept;
  AsyncReadback& operator=(AsyncReadback&&) noexcept;

  /// Enqueues the copy of the vector, in order with the other work of the device.
  void post(const Vector<double>& from);
  /// Waits for the last copy that was posted and returns its values.
  std::span<const double> receive() const;

 private:
  struct Slot;
  std::unique_ptr<Slot> slot_;
};

}  // namespace femcg::operators
