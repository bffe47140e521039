#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// Work for a device that is given to it again and again: on the GPU one launch of a CUDA graph instead of many
/// launches of kernels.
class RecordedWork {
 public:
  /// Records what `work` gives to the device, without running it. On a GPU it must neither wait nor allocate. On the
  /// host the function itself is kept.
  RecordedWork(Device device, std::function<void()> work);
  ~RecordedWork();
  RecordedWork(RecordedWork&&) noexcept;
  RecordedWork& operator=(RecordedWork&&) noexcept;

  void run() const;

 private:
  struct Graph;
  std::function<void()> work_;  ///< on the host
  std::unique_ptr<Graph> graph_;
};

/// The stream that all work of the GPU is given to, a cudaStream_t: for libraries that give it work of their own.
/// Throws std::runtime_error where there is no GPU.
void* cuda_work_stream();

/// Numbers on their way from a device to the host, without holding up the device.
class Mailbox {
 public:
  Mailbox(std::int64_t size, Device device);
  ~Mailbox();
  Mailbox(Mailbox&&) noexcept;
  Mailbox& operator=(Mailbox&&) noexcept;

  /// Sends the vector as it is once the work that the device was given before is done.
  void post(const Vector<double>& from);
  /// The numbers last sent, waited for.
  std::span<const double> receive() const;

 private:
  struct Slot;
  std::unique_ptr<Slot> slot_;
};

}  // namespace femcg::operators
