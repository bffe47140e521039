// Permutations of vectors, one thread a value: 4 bytes of the permutation per row and two words per value, one of them
// at a scattered address.

#include "operators/backend/copied_values.hpp"
#include "operators/backend/launch.cuh"
#include "operators/backend/permutation.hpp"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256;

std::int64_t blocks(std::int64_t size) { return cuda::blocks_of(size, block_threads); }

/// Index of a value in the vector that is not permuted. `places` is null for the identity.
__device__ std::int64_t permuted(std::int64_t number, const std::int32_t* places, int stride) {
  return places != nullptr ? std::int64_t{places[number / stride]} * stride + number % stride : number;
}
template <class From, class To>
__global__ void gather_rows_kernel(std::int64_t numbers, int stride, const From* from, const std::int32_t* places,
                                   To* to) {
  const std::int64_t i = cuda::thread_number();
  if (i < numbers) to[i] = static_cast<To>(from[permuted(i, places, stride)]);
}
template <class From, class To>
__global__ void scatter_rows_kernel(std::int64_t numbers, int stride, const From* from, const std::int32_t* places,
                                    To* to) {
  const std::int64_t i = cuda::thread_number();
  if (i < numbers) to[permuted(i, places, stride)] = static_cast<To>(from[i]);
}
template <class T>
__global__ void scatter_added_kernel(std::int64_t size, const T* from, const std::int32_t* places, double* to) {
  const std::int64_t i = cuda::thread_number();
  if (i < size) to[places != nullptr ? places[i] : i] += static_cast<double>(from[i]);
}

/// Entry i of an ordering; `order` is null for the identity.
__device__ std::int32_t number_at(const std::int32_t* order, std::int64_t i) {
  return order != nullptr ? order[i] : static_cast<std::int32_t>(i);
}
__global__ void compare_kernel(std::int64_t size, const std::int32_t* from, const std::int32_t* to, int* differ) {
  const std::int64_t i = cuda::thread_number();
  if (i < size && number_at(from, i) != number_at(to, i)) *differ = 1;
}
__global__ void invert_kernel(std::int64_t size, const std::int32_t* order, std::int32_t* places) {
  const std::int64_t i = cuda::thread_number();
  if (i < size) places[number_at(order, i)] = static_cast<std::int32_t>(i);
}
__global__ void compose_kernel(std::int64_t size, const std::int32_t* place_of, const std::int32_t* order,
                               std::int32_t* places) {
  const std::int64_t i = cuda::thread_number();
  if (i < size) places[i] = place_of[number_at(order, i)];
}
template <class T>
__global__ void clear_kernel(std::int64_t count, const std::int32_t* places, T* vector) {
  const std::int64_t i = cuda::thread_number();
  if (i < count) vector[places[i]] = 0;
}

const std::int32_t* data_of(const Vector<std::int32_t>& places) { return places.size() > 0 ? places.data() : nullptr; }

}  // namespace

template <std::floating_point From, std::floating_point To>
void cuda_gather_rows(const From* from, const Vector<std::int32_t>& places, std::int64_t rows, int stride, To* to) {
  cuda::launch(gather_rows_kernel<From, To>, blocks(rows * stride), block_threads, 0, rows * stride, stride, from,
               data_of(places), to);
}
template <std::floating_point From, std::floating_point To>
void cuda_scatter_rows(const From* from, const Vector<std::int32_t>& places, std::int64_t rows, int stride, To* to) {
  cuda::launch(scatter_rows_kernel<From, To>, blocks(rows * stride), block_threads, 0, rows * stride, stride, from,
               data_of(places), to);
}
template <std::floating_point T>
void cuda_scatter_added(const Vector<T>& from, const Vector<std::int32_t>& places, Vector<double>& to) {
  cuda::launch(scatter_added_kernel<T>, blocks(to.size()), block_threads, 0, to.size(), from.data(), data_of(places),
               to.data());
}

Vector<std::int32_t> cuda_places_between(const Vector<std::int32_t>& from, const Vector<std::int32_t>& to,
                                         std::int64_t size) {
  Vector<int> differ = zeros_on_gpu<int>(1);
  cuda::launch(compare_kernel, blocks(size), block_threads, 0, size, data_of(from), data_of(to), differ.data());
  if (copied(differ, Device::host)[0] == 0) return {};
  Vector<std::int32_t> place_of(size, Device::cuda), places(size, Device::cuda);
  cuda::launch(invert_kernel, blocks(size), block_threads, 0, size, data_of(from), place_of.data());
  cuda::launch(compose_kernel, blocks(size), block_threads, 0, size, place_of.data(), data_of(to), places.data());
  synchronize(Device::cuda);  // before `place_of` is freed
  return places;
}
template <std::floating_point T>
void cuda_clear_at(std::span<const std::int32_t> places, Vector<T>& vector) {
  const Vector<std::int32_t> there = copied(places, Device::cuda);
  cuda::launch(clear_kernel<T>, blocks(there.size()), block_threads, 0, there.size(), there.data(), vector.data());
  synchronize(Device::cuda);  // before `there` is freed
}

template void cuda_gather_rows(const double*, const Vector<std::int32_t>&, std::int64_t, int, double*);
template void cuda_gather_rows(const double*, const Vector<std::int32_t>&, std::int64_t, int, float*);
template void cuda_gather_rows(const float*, const Vector<std::int32_t>&, std::int64_t, int, float*);
template void cuda_scatter_rows(const double*, const Vector<std::int32_t>&, std::int64_t, int, double*);
template void cuda_scatter_rows(const float*, const Vector<std::int32_t>&, std::int64_t, int, double*);
template void cuda_scatter_rows(const float*, const Vector<std::int32_t>&, std::int64_t, int, float*);
template void cuda_scatter_added(const Vector<double>&, const Vector<std::int32_t>&, Vector<double>&);
template void cuda_scatter_added(const Vector<float>&, const Vector<std::int32_t>&, Vector<double>&);
template void cuda_clear_at(std::span<const std::int32_t>, Vector<double>&);
template void cuda_clear_at(std::span<const std::int32_t>, Vector<float>&);

}  // namespace femcg::operators
