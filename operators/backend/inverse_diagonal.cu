// A diagonal and its inverse, an entry a thread, in strides of the grid. Sums and least numbers are of integers, and so
// do not depend on their order.

#include <algorithm>
#include <limits>

#include "operators/backend/cuda/launch.cuh"
#include "operators/backend/inverse_diagonal.hpp"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256;

/// What threads add to, as atomics take it.
struct Found {
  unsigned long long not_positive, exponents;
};

template <class T>
__global__ void __launch_bounds__(block_threads)
    range_kernel(std::int64_t rows, std::int64_t counted, const T* d, Found* found) {
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  long long exponents = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows; i += threads) {
    const T entry = d[i];
    if (!(entry > 0)) atomicMin(&found->not_positive, static_cast<unsigned long long>(i));
    int exponent = 0;
    frexp(entry, &exponent);
    if (i < counted) exponents += exponent - 1;
  }
  for (int distance = cuda::threads_per_warp / 2; distance > 0; distance /= 2)
    exponents += __shfl_down_sync(cuda::all_lanes, exponents, distance);
  if (threadIdx.x % cuda::threads_per_warp == 0)
    atomicAdd(&found->exponents, static_cast<unsigned long long>(exponents));
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    invert_kernel(std::int64_t rows, double numerator, double least, double most, const T* d, float* inverse) {
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows; i += threads)
    inverse[i] = static_cast<float>(fmin(fmax(numerator / static_cast<double>(d[i]), least), most));
}

template <class Kernel>
std::int64_t blocks(std::int64_t rows, Kernel kernel) {
  return std::min((rows + block_threads - 1) / block_threads, cuda::resident_blocks(kernel, block_threads));
}

}  // namespace

template <std::floating_point T>
DiagonalRange cuda_range_of_diagonal(const Vector<T>& d, std::int64_t counted) {
  Found found{std::numeric_limits<unsigned long long>::max(), 0};
  Vector<Found> on_gpu(1, Device::cuda);
  copy_bytes(&found, Device::host, on_gpu.data(), Device::cuda, sizeof found);
  cuda::launch(range_kernel<T>, blocks(d.size(), range_kernel<T>), block_threads, 0, d.size(), counted, d.data(),
               on_gpu.data());
  copy_bytes(on_gpu.data(), Device::cuda, &found, Device::host, sizeof found);
  const bool any = found.not_positive < static_cast<unsigned long long>(d.size());
  return {any ? static_cast<std::int64_t>(found.not_positive) : -1, static_cast<std::int64_t>(found.exponents)};
}

template <std::floating_point T>
void cuda_invert_diagonal(const Vector<T>& d, double numerator, InverseDiagonal& inverse) {
  cuda::launch(invert_kernel<T>, blocks(d.size(), invert_kernel<T>), block_threads, 0, d.size(), numerator,
               double{std::numeric_limits<float>::min()}, double{std::numeric_limits<float>::max()}, d.data(),
               inverse.data());
}

template DiagonalRange cuda_range_of_diagonal(const Vector<double>&, std::int64_t);
template DiagonalRange cuda_range_of_diagonal(const Vector<float>&, std::int64_t);
template void cuda_invert_diagonal(const Vector<double>&, double, InverseDiagonal&);
template void cuda_invert_diagonal(const Vector<float>&, double, InverseDiagonal&);

}  // namespace femcg::operators
