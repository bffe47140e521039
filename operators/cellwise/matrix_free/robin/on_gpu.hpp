#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "operators/backend/copied_values.hpp"
#include "operators/backend/permutation.hpp"

namespace femcg::operators {

/// Values on the GPU, rounded to T.
template <class T>
Vector<T> rounded(const Vector<double>& from) {
  Vector<T> to(from.size(), Device::cuda);
  gather_rows(from, {}, 1, to);
  return to;
}
/// Copies values of the host to the GPU, and rounds them to T there.
template <class T>
Vector<T> on_gpu(std::span<const double> from) {
  Vector<double> there = copied(from, Device::cuda);
  if constexpr (std::is_same_v<T, double>) {
    return there;
  } else {
    Vector<T> to = rounded<T>(there);
    synchronize(Device::cuda);  // before `there` is freed
    return to;
  }
}
inline Vector<std::int32_t> on_gpu(std::span<const std::int32_t> from) { return copied(from, Device::cuda); }

}  // namespace femcg::operators
