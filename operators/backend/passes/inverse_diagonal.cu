// A diagonal and its inverse, one thread an entry in a grid-stride loop. Sums and minima are of integers, hence
// independent of their order.

#include <algorithm>
#include <bit>
#include <limits>

#include "operators/backend/copied_values.hpp"
#include "operators/backend/launch.cuh"
#include "operators/backend/passes/inverse_diagonal.hpp"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256;

/// DiagonalRange in atomics' form: doubles that are not negative are ordered like their bits.
struct Found {
  unsigned long long not_positive, exponents, smallest, largest;
  unsigned has_nan;
};

__device__ unsigned long long least_of_lanes(unsigned long long value) {
  for (int distance = cuda::threads_per_warp / 2; distance > 0; distance /= 2)
    value = min(value, __shfl_xor_sync(cuda::all_lanes, value, distance));
  return value;
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    range_kernel(std::int64_t rows, std::int64_t counted, const T* d, Found* found) {
  constexpr unsigned long long all_bits = ~0ULL;
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  long long exponents = 0;
  unsigned long long not_positive = all_bits, smallest = all_bits, largest = 0;
  for (std::int64_t i = cuda::thread_number(); i < rows; i += threads) {
    const auto entry = static_cast<double>(d[i]);
    if (!(entry > 0)) not_positive = min(not_positive, static_cast<unsigned long long>(i));
    if (isnan(entry)) found->has_nan = 1;
    if (entry >= 0) {
      const auto bits = static_cast<unsigned long long>(__double_as_longlong(fabs(entry)));  // of -0 too
      smallest = min(smallest, bits);
      largest = max(largest, bits);
    }
    int exponent = 0;
    frexp(entry, &exponent);
    if (i < counted) exponents += exponent - 1;
  }
  for (int distance = cuda::threads_per_warp / 2; distance > 0; distance /= 2)
    exponents += __shfl_xor_sync(cuda::all_lanes, exponents, distance);
  not_positive = least_of_lanes(not_positive);
  smallest = least_of_lanes(smallest);
  largest = ~least_of_lanes(~largest);
  if (threadIdx.x % cuda::threads_per_warp != 0) return;
  atomicAdd(&found->exponents, static_cast<unsigned long long>(exponents));
  if (not_positive != all_bits) atomicMin(&found->not_positive, not_positive);
  atomicMin(&found->smallest, smallest);
  atomicMax(&found->largest, largest);
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    invert_kernel(std::int64_t rows, double numerator, double least, double most, const T* d, float* inverse) {
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = cuda::thread_number(); i < rows; i += threads)
    inverse[i] = static_cast<float>(fmin(fmax(numerator / static_cast<double>(d[i]), least), most));
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    random_kernel(std::int64_t rows, const float* inverse, const std::int32_t* ordering, const std::int64_t* numbers,
                  T* r) {
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = cuda::thread_number(); i < rows; i += threads) {
    const std::int64_t k = ordering != nullptr ? ordering[i] : i;
    r[i] = static_cast<T>(random_number(numbers != nullptr ? numbers[k] : k) / sqrt(static_cast<double>(inverse[i])));
  }
}

template <class Kernel>
std::int64_t blocks(std::int64_t rows, Kernel kernel) {
  return std::min(cuda::blocks_of(rows, block_threads), cuda::resident_blocks(kernel, block_threads));
}

}  // namespace

template <std::floating_point T>
DiagonalRange cuda_range_of_diagonal(const Vector<T>& d, std::int64_t counted) {
  constexpr unsigned long long none = std::numeric_limits<unsigned long long>::max();
  Found found{none, 0, none, 0, 0};
  Vector<Found> on_gpu(1, Device::cuda);
  copy_bytes(&found, Device::host, on_gpu.data(), Device::cuda, sizeof found);
  cuda::launch(range_kernel<T>, blocks(d.size(), range_kernel<T>), block_threads, 0, d.size(), counted, d.data(),
               on_gpu.data());
  copy_bytes(on_gpu.data(), Device::cuda, &found, Device::host, sizeof found);
  DiagonalRange range;
  if (found.not_positive != none) range.not_positive = static_cast<std::int64_t>(found.not_positive);
  range.has_nan = found.has_nan != 0;
  if (found.smallest != none) range.smallest = std::bit_cast<double>(found.smallest);
  range.largest = std::bit_cast<double>(found.largest);
  range.exponents = static_cast<std::int64_t>(found.exponents);
  return range;
}

template <std::floating_point T>
void cuda_invert_diagonal(const Vector<T>& d, double numerator, InverseDiagonal& inverse) {
  cuda::launch(invert_kernel<T>, blocks(d.size(), invert_kernel<T>), block_threads, 0, d.size(), numerator,
               double{std::numeric_limits<float>::min()}, double{std::numeric_limits<float>::max()}, d.data(),
               inverse.data());
}

template <std::floating_point T>
void cuda_random_residual(const InverseDiagonal& inverse, const Vector<std::int32_t>& ordering,
                          std::span<const std::int64_t> numbers, Vector<T>& r) {
  const Vector<std::int64_t> there = copied(numbers, Device::cuda);
  cuda::launch(random_kernel<T>, blocks(r.size(), random_kernel<T>), block_threads, 0, r.size(), inverse.data(),
               ordering.size() > 0 ? ordering.data() : nullptr, there.size() > 0 ? there.data() : nullptr, r.data());
  synchronize(Device::cuda);  // before `there` is freed
}

template DiagonalRange cuda_range_of_diagonal(const Vector<double>&, std::int64_t);
template DiagonalRange cuda_range_of_diagonal(const Vector<float>&, std::int64_t);
template void cuda_invert_diagonal(const Vector<double>&, double, InverseDiagonal&);
template void cuda_invert_diagonal(const Vector<float>&, double, InverseDiagonal&);
template void cuda_random_residual(const InverseDiagonal&, const Vector<std::int32_t>&, std::span<const std::int64_t>,
                                   Vector<double>&);
template void cuda_random_residual(const InverseDiagonal&, const Vector<std::int32_t>&, std::span<const std::int64_t>,
                                   Vector<float>&);

}  // namespace femcg::operators
