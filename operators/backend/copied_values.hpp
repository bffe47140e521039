#pragma once

#include <span>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// Plain numbers of the host in a vector on a device.
template <class T>
Vector<T> copied(std::span<const T> numbers, Device device) {
  Vector<T> there(std::ssize(numbers), device);
  copy_bytes(numbers.data(), Device::host, there.data(), device, there.bytes());
  return there;
}

}  // namespace femcg::operators
