#pragma once

#include <functional>
#include <memory>

namespace femcg::operators {

/// Work that the GPU does beside what it is given next, and before that where both have to wait for room. It can be
/// recorded with the rest. Throws std::runtime_error in a build without CUDA.
class SideWork {
 public:
  SideWork();
  ~SideWork();
  SideWork(const SideWork&) = delete;
  SideWork& operator=(const SideWork&) = delete;

  /// Gives the GPU what `work` gives it: after all that it was given before, and beside what comes until join().
  void begin(const std::function<void()>& work);
  /// What the GPU is given from now on comes after that work.
  void join();

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace femcg::operators
