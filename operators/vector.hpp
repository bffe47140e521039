#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "operators/device.hpp"

namespace femcg::operators {

/// Uninitialised memory on a device. On the host aligned to 64 bytes, and to large pages (which the kernel is asked
/// for) from 4 MiB on: a stream of 4 KiB pages leaves the hardware prefetcher and the TLB behind. Throws
/// std::bad_alloc.
void* allocate_bytes(std::int64_t bytes, Device device);
void free_bytes(void* memory, std::int64_t bytes, Device device) noexcept;

/// `size` numbers that live on one device. Uninitialised when made, so that the threads that fill it place its pages;
/// moved, never copied silently.
template <class T>
class Vector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Vector() = default;
  explicit Vector(std::int64_t size, Device device = Device::host)
      : data_(static_cast<T*>(allocate_bytes(size * static_cast<std::int64_t>(sizeof(T)), device))),
        size_(size),
        device_(device) {}
  Vector(Vector&& other) noexcept { swap(other); }
  Vector& operator=(Vector&& other) noexcept {
    Vector taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Vector() { free_bytes(data_, bytes(), device_); }

  std::int64_t size() const { return size_; }
  std::int64_t bytes() const { return size_ * static_cast<std::int64_t>(sizeof(T)); }
  Device device() const { return device_; }
  T* data() { return data_; }
  const T* data() const { return data_; }

  /// The numbers themselves, host only.
  std::span<T> span() { return {data_, static_cast<std::size_t>(size_)}; }
  std::span<const T> span() const { return {data_, static_cast<std::size_t>(size_)}; }
  T& operator[](std::int64_t i) { return data_[i]; }
  const T& operator[](std::int64_t i) const { return data_[i]; }

 private:
  void swap(Vector& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(device_, other.device_);
  }

  T* data_ = nullptr;
  std::int64_t size_ = 0;
  Device device_ = Device::host;
};

/// Sets every number, in parallel.
template <class T>
void fill(Vector<T>& vector, T value);

/// Copies between vectors of one size, whatever their precision; both on the host.
template <class To, class From>
void copy(const Vector<From>& from, Vector<To>& to);

/// One number that stays on the device of the loop that computes it. Sums are kept in double precision in either
/// working precision.
class Scalar {
 public:
  explicit Scalar(Device device = Device::host) : storage_(1, device) {}
  double* data() { return storage_.data(); }
  const double* data() const { return storage_.data(); }
  Device device() const { return storage_.device(); }
  /// The value, host only.
  double value() const { return storage_[0]; }

 private:
  Vector<double> storage_;
};

}  // namespace femcg::operators
