#pragma once

#include <cstdint>
#include <vector>

#include "operators/backend/permutation.hpp"
#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// Numbers of the host on the GPU, rounded to T.
template <class T>
Vector<T> on_gpu(const std::vector<double>& from) {
  Vector<T> on_host(static_cast<std::int64_t>(from.size()));
  for (std::size_t i = 0; i < from.size(); ++i) on_host[static_cast<std::int64_t>(i)] = static_cast<T>(from[i]);
  return copied(on_host, Device::cuda);
}
/// Numbers that are on the GPU, rounded to T.
template <class T>
Vector<T> rounded(const Vector<double>& from) {
  Vector<T> to(from.size(), Device::cuda);
  cuda_gather_rounded(from, {}, to);
  return to;
}
inline Vector<std::int32_t> on_gpu(const std::vector<std::int32_t>& from) {
  Vector<std::int32_t> to(static_cast<std::int64_t>(from.size()), Device::cuda);
  copy_bytes(from.data(), Device::host, to.data(), Device::cuda, to.bytes());
  return to;
}

}  // namespace femcg::operators
