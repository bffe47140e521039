#pragma once

#include <functional>
#include <memory>

namespace femcg::operators {

/// A second stream of GPU work, concurrent with the main one and preferred where both wait for multiprocessors. It can
/// be captured into the same CUDA graph. Throws std::runtime_error in a build without CUDA.
class SideStream {
 public:
  SideStream();
  ~SideStream();
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  /// Enqueues `work` on the side stream: after all earlier work, concurrently with what follows until join().
  void begin(const std::function<void()>& work);
  /// Orders all later work after the side stream's.
  void join();

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace femcg::operators
