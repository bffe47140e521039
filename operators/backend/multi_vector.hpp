#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <concepts>
#include <cstdint>
#include <span>
#include <utility>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// k vectors of one length on one device, interleaved: entry i of all k is contiguous, so that a matrix entry is read
/// once for all k. A row takes `stride` values, the least power of two that is not below k. The values behind the k-th
/// are padding: vector kernels treat them like the others, to avoid a branch; a product computes them or leaves them
/// unchanged. They are zero wherever they could enter a result.
template <class T>
class MultiVector {
 public:
  static constexpr int most = 32;  ///< more vectors are treated in batches of so many

  MultiVector() = default;
  /// Uninitialised, like a Vector. 1 <= count <= most.
  MultiVector(std::int64_t rows, int count, Device device = Device::host)
      : rows_(rows),
        count_(count),
        stride_(static_cast<int>(std::bit_ceil(static_cast<unsigned>(count)))),
        entries_(rows * stride_, device) {
    assert(count >= 1 && count <= most);
  }

  /// A view of the entries of `count` vectors, owned by another object.
  MultiVector(Vector<T>&& entries, int count)
      : count_(count), stride_(static_cast<int>(std::bit_ceil(static_cast<unsigned>(count)))) {
    entries_ = std::move(entries);
    rows_ = entries_.size() / stride_;
  }

  std::int64_t rows() const { return rows_; }
  int count() const { return count_; }
  int stride() const { return stride_; }
  Device device() const { return entries_.device(); }
  std::int64_t bytes() const { return entries_.bytes(); }
  T* data() { return entries_.data(); }
  const T* data() const { return entries_.data(); }
  /// The values [rows][stride]; for one column the vector itself.
  Vector<T>& entries() { return entries_; }
  const Vector<T>& entries() const { return entries_; }

 private:
  std::int64_t rows_ = 0;
  int count_ = 1, stride_ = 1;
  Vector<T> entries_;
};

/// `stride` scalars on a device, one for each vector of a multi-vector: a range of a vector, in double precision.
class MultiScalar {
 public:
  MultiScalar(Vector<double>& of, std::int64_t place, int stride)
      : data_(of.data() + place), stride_(stride), device_(of.device()) {
    assert(place + stride <= of.size());
  }
  /// A view of values that another object owns.
  MultiScalar(double* places, int stride, Device device) : data_(places), stride_(stride), device_(device) {}
  double* data() { return data_; }
  const double* data() const { return data_; }
  Scalar of(int c) { return {data_ + c, device_}; }
  int stride() const { return stride_; }
  Device device() const { return device_; }

 private:
  double* data_;
  int stride_;
  Device device_;
};

/// Calls work<stride>() for a stride > 1 that is known at run time.
template <class Work>
decltype(auto) with_stride(int stride, const Work& work) {
  switch (stride) {
    case 2:
      return work.template operator()<2>();
    case 4:
      return work.template operator()<4>();
    case 8:
      return work.template operator()<8>();
    case 16:
      return work.template operator()<16>();
    default:
      assert(stride == 32);
      return work.template operator()<32>();
  }
}

/// The same for a stride >= 1.
template <class Work>
decltype(auto) with_any_stride(int stride, const Work& work) {
  return stride == 1 ? work.template operator()<1>() : with_stride(stride, work);
}

/// Column c of `to`: its entry i is from[places[i]], or from[i] where `places` is empty. All live on one device.
template <std::floating_point T>
void set_column(const Vector<T>& from, const Vector<std::int32_t>& places, int c, MultiVector<T>& to);

/// to[places[i]] is entry i of column c, or to[i] where `places` is empty.
template <std::floating_point T>
void get_column(const MultiVector<T>& from, int c, const Vector<std::int32_t>& places, Vector<T>& to);

/// Most vectors of one call of get_columns and set_columns: together one 32-byte sector of a row in double precision.
inline constexpr int columns_in_a_pass = 4;

/// to[j] is column first + j of `from`; at most columns_in_a_pass of them. All live on one device.
template <std::floating_point T>
void get_columns(const MultiVector<T>& from, int first, std::span<Vector<T>> to);
/// Column first + j of `to` is from[j].
template <std::floating_point T>
void set_columns(std::span<const Vector<T>> from, int first, MultiVector<T>& to);

/// The same on the GPU; they throw std::runtime_error in a build without CUDA.
template <std::floating_point T>
void cuda_set_column(const Vector<T>& from, const Vector<std::int32_t>& places, int c, MultiVector<T>& to);
template <std::floating_point T>
void cuda_get_column(const MultiVector<T>& from, int c, const Vector<std::int32_t>& places, Vector<T>& to);
template <std::floating_point T>
void cuda_get_columns(const MultiVector<T>& from, int first, std::span<Vector<T>> to);
template <std::floating_point T>
void cuda_set_columns(std::span<const Vector<T>> from, int first, MultiVector<T>& to);

}  // namespace femcg::operators
