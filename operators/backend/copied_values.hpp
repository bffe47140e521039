#pragma once

#include <span>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// Copies values of the host to a new vector on `device`.
template <class T>
Vector<T> copied(std::span<const T> numbers, Device device) {
  Vector<T> there(std::ssize(numbers), device);
  copy_bytes(numbers.data(), Device::host, there.data(), device, there.bytes());
  return there;
}

}  // namespace femcg::operators
