#pragma once

// Common parts of the products of stored formats on the GPU: loads, the loop along a row, x'Ax, launches.

#include <algorithm>

#include "operators/backend/cuda/reductions.cuh"

namespace femcg::operators::cuda {

/// Loads a value of the matrix with an evict-first hint, since it is used once and should not displace x in the caches.
template <class T>
__device__ T load_once(const T* at) {
  return __ldcs(at);
}

/// Sum of values[place(k)] x[columns[place(k)]] over k < count. Four entries are in flight at a time: a load of x
/// depends on the load of its column, and one at a time these latencies would add up.
template <class T, class Place>
__device__ T row_times_vector(const T* values, const std::int32_t* columns, const T* __restrict__ x, std::int32_t count,
                              const Place& place) {
  constexpr int together = 4;
  T sums[together] = {};
  std::int32_t column[together];
  T value[together];
  std::int32_t k = 0;
#pragma unroll 1
  for (; k + together <= count; k += together) {
#pragma unroll
    for (int j = 0; j < together; ++j) {
      const std::int64_t at = place(k + j);
      column[j] = load_once(columns + at);
      value[j] = load_once(values + at);
    }
#pragma unroll
    for (int j = 0; j < together; ++j) sums[j] += value[j] * __ldg(x + column[j]);
  }
#pragma unroll
  for (int j = 0; j < together - 1; ++j) {
    if (k + j >= count) continue;
    const std::int64_t at = place(k + j);
    column[j] = load_once(columns + at);
    value[j] = load_once(values + at);
  }
#pragma unroll
  for (int j = 0; j < together - 1; ++j)
    if (k + j < count) sums[j] += value[j] * __ldg(x + column[j]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// Sum over each group of `threads` adjacent lanes, a power of two, known to the first lane of the group. All lanes
/// call it.
template <int threads, class T>
__device__ T sum_of_lanes(T value) {
#pragma unroll
  for (int distance = threads / 2; distance > 0; distance /= 2)
    value += __shfl_down_sync(all_lanes, value, distance, threads);
  return value;
}

/// Calls make<threads>() for a number of threads per row that is known at run time, a power of two up to a warp.
template <class Make>
auto with_threads_per_row(int threads, const Make& make) {
  switch (threads) {
    case 1:
      return make.template operator()<1>();
    case 2:
      return make.template operator()<2>();
    case 4:
      return make.template operator()<4>();
    case 8:
      return make.template operator()<8>();
    case 16:
      return make.template operator()<16>();
    default:
      return make.template operator()<threads_per_warp>();
  }
}

/// Launches of y = A x by one of two kernels, without and with x'Ax. A kernel is a grid-stride loop, writes all of y,
/// and with x'Ax ends with give_energy.
template <class T, class Matrix>
class Product {
 public:
  using Kernel = void (*)(Matrix a, const T* x, T* y, double* energy, Parts<1> parts);

  /// Launches blocks of `threads` threads, at most as many as the GPU holds concurrently.
  Product(Kernel without_energy, Kernel with_energy, int threads)
      : Product(without_energy, with_energy, threads, resident_blocks(without_energy, threads),
                resident_blocks(with_energy, threads)) {}
  /// The same with a grid of at most `most_blocks`.
  Product(Kernel without_energy, Kernel with_energy, int threads, std::int64_t most_blocks)
      : Product(without_energy, with_energy, threads, most_blocks, most_blocks) {}

  /// `threads` is the number of threads that have work. With x'Ax the grid has at least one block, which writes it even
  /// without rows.
  void operator()(const Matrix& a, std::int64_t threads, const Vector<T>& x, Vector<T>& y, Scalar* energy) const {
    const std::int64_t blocks = (threads + threads_ - 1) / threads_;
    if (energy == nullptr)
      launch(without_energy_, std::min(blocks, blocks_without_), threads_, 0, a, x.data(), y.data(),
             static_cast<double*>(nullptr), parts_.parts());
    else
      launch(with_energy_, std::clamp<std::int64_t>(blocks, 1, blocks_with_), threads_, 0, a, x.data(), y.data(),
             energy->data(), parts_.parts());
  }

 private:
  Product(Kernel without_energy, Kernel with_energy, int threads, std::int64_t blocks_without, std::int64_t blocks_with)
      : without_energy_(without_energy),
        with_energy_(with_energy),
        threads_(threads),
        blocks_without_(blocks_without),
        blocks_with_(blocks_with),
        parts_(blocks_with) {
    for (const Kernel kernel : {without_energy, with_energy}) load(kernel);
  }

  Kernel without_energy_, with_energy_;
  int threads_;
  std::int64_t blocks_without_, blocks_with_;
  mutable PartsStorage<1> parts_;
};

/// Sums the threads' contributions to x'Ax over the grid. Called once by every thread, at its end.
__device__ inline void give_energy(double of_thread, double* energy, Parts<1> parts) {
  const double sums[1] = {of_thread};
  sum_of_grid(sums, parts, [&](const double(&results)[1]) { *energy = results[0]; });
}

/// Contribution of a row to x'Ax.
template <class T>
__device__ double energy_of_row(T x, T y) {
  return static_cast<double>(x) * static_cast<double>(y);
}

}  // namespace femcg::operators::cuda
