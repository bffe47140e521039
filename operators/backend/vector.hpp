#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "operators/backend/memory.hpp"

namespace femcg::operators {

/// `size` values on one device. Uninitialised when made, so that the threads that fill a vector place its pages; moved,
/// never copied silently.
template <class T>
class Vector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Vector() = default;
  explicit Vector(std::int64_t size, Device device = Device::host)
      : data_(static_cast<T*>(allocate_bytes(size * static_cast<std::int64_t>(sizeof(T)), device))),
        size_(size),
        device_(device) {}
  /// A view of values that another object owns and that outlive the view.
  Vector(T* data, std::int64_t size, Device device) : data_(data), size_(size), device_(device), is_kept_here_(false) {}
  Vector(Vector&& other) noexcept { swap(other); }
  Vector& operator=(Vector&& other) noexcept {
    Vector taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Vector() {
    if (is_kept_here_) free_bytes(data_, bytes(), device_);
  }

  std::int64_t size() const { return size_; }
  std::int64_t bytes() const { return size_ * static_cast<std::int64_t>(sizeof(T)); }
  Device device() const { return device_; }
  T* data() { return data_; }
  const T* data() const { return data_; }

  /// The values, on the host only.
  std::span<T> span() { return {data_, static_cast<std::size_t>(size_)}; }
  std::span<const T> span() const { return {data_, static_cast<std::size_t>(size_)}; }
  T& operator[](std::int64_t i) { return data_[i]; }
  const T& operator[](std::int64_t i) const { return data_[i]; }

 private:
  void swap(Vector& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(device_, other.device_);
    std::swap(is_kept_here_, other.is_kept_here_);
  }

  T* data_ = nullptr;
  std::int64_t size_ = 0;
  Device device_ = Device::host;
  bool is_kept_here_ = true;
};

/// Sets all values, in parallel. On a GPU through a copy from the host: not for inner loops.
template <class T>
void fill(Vector<T>& vector, T value);

/// Sets all values to zero.
template <class T>
void clear(Vector<T>& vector) {
  if (vector.device() == Device::host)
    fill(vector, T(0));
  else
    cuda_clear(vector.data(), vector.bytes());
}

/// A vector on the GPU whose bytes are zero, for any T.
template <class T>
Vector<T> zeros_on_gpu(std::int64_t size) {
  Vector<T> vector(size, Device::cuda);
  cuda_clear(vector.data(), vector.bytes());
  return vector;
}

/// Copies between vectors of one size on any devices; a change of precision needs both on the host. Throws
/// std::invalid_argument otherwise.
template <class To, class From>
void copy(const Vector<From>& from, Vector<To>& to);

/// A copy of the vector on `device`.
template <class T>
Vector<T> copied(const Vector<T>& from, Device device) {
  Vector<T> to(from.size(), device);
  copy_bytes(from.data(), from.device(), to.data(), device, from.bytes());
  return to;
}

/// One value on a device, owned or a view of an entry of a vector. Double precision in either working precision, for
/// sums.
class Scalar {
 public:
  explicit Scalar(Device device = Device::host) : storage_(1, device), data_(storage_.data()), device_(device) {}
  Scalar(Vector<double>& of, std::int64_t place) : Scalar(of.data() + place, of.device()) {}
  /// A view of a value that another object owns.
  Scalar(double* place, Device device) : data_(place), device_(device) {}
  double* data() { return data_; }
  const double* data() const { return data_; }
  Device device() const { return device_; }
  /// The value; on a GPU waits for the device.
  double value() const {
    double value = 0;
    copy_bytes(data_, device_, &value, Device::host, sizeof value);
    return value;
  }

 private:
  Vector<double> storage_;
  double* data_;
  Device device_;
};

}  // namespace femcg::operators
