#pragma once

#include <cub/device/device_scan.cuh>

#include "operators/backend/launch.cuh"
#include "operators/backend/vector.hpp"

namespace femcg::operators::cuda {

/// Exclusive prefix sum of a vector on the GPU, in place.
template <class T>
void sum_before(Vector<T>& numbers) {
  std::size_t bytes = 0;
  const auto sum = [&](void* room) {
    check(cub::DeviceScan::ExclusiveSum(room, bytes, numbers.data(), numbers.data(), numbers.size(), stream()),
          "summing up");
  };
  sum(nullptr);
  Vector<char> room(static_cast<std::int64_t>(bytes), Device::cuda);
  sum(room.data());
}

/// One value of a vector on the GPU; waits for the copy.
template <class T>
T number_at(const Vector<T>& vector, std::int64_t i) {
  T number;
  copy_bytes(vector.data() + i, Device::cuda, &number, Device::host, sizeof(T));
  return number;
}

}  // namespace femcg::operators::cuda
