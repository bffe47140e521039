#pragma once

#include "operators/backend/launch.cuh"

namespace femcg::operators::cuda {

/// Replaces stream() until the end of the scope.
class StreamScope {
 public:
  explicit StreamScope(cudaStream_t stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  cudaStream_t before_;
};

}  // namespace femcg::operators::cuda
