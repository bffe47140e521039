// Columns of multi-vectors, one thread a row. Moving one column moves whole rows through memory, but only at the begin
// and end of a solve; moving a sector of columns moves no more than these.

#include "operators/backend/launch.cuh"
#include "operators/backend/multi_vector.hpp"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256;

std::int64_t blocks(std::int64_t size) { return cuda::blocks_of(size, block_threads); }

const std::int32_t* data_of(const Vector<std::int32_t>& places) { return places.size() > 0 ? places.data() : nullptr; }

template <class T>
__global__ void set_column_kernel(std::int64_t rows, const T* from, const std::int32_t* places, int stride, T* to) {
  const std::int64_t i = cuda::thread_number();
  if (i < rows) to[i * stride] = from[places != nullptr ? places[i] : i];
}
template <class T>
__global__ void get_column_kernel(std::int64_t rows, const T* from, int stride, const std::int32_t* places, T* to) {
  const std::int64_t i = cuda::thread_number();
  if (i < rows) to[places != nullptr ? places[i] : i] = from[i * stride];
}

/// Pointers to the vectors of one call.
template <class T>
struct PassOfColumns {
  int count;
  T* vectors[columns_in_a_pass];
};
template <class T, class Vectors>
PassOfColumns<T> pass_of(const Vectors& vectors) {
  PassOfColumns<T> pass{static_cast<int>(vectors.size()), {}};
  for (int j = 0; j < pass.count; ++j) pass.vectors[j] = vectors[j].data();
  return pass;
}

/// 16 bytes of a row.
template <class T>
struct alignas(16) Pack {
  static constexpr int count = 16 / sizeof(T);
  T of[count];
};

template <class T>
__global__ void get_columns_kernel(std::int64_t rows, const T* from, int stride, PassOfColumns<T> to) {
  const std::int64_t i = cuda::thread_number();
  if (i >= rows) return;
  from += i * stride;
  if (to.count < columns_in_a_pass) {
    for (int j = 0; j < to.count; ++j) to.vectors[j][i] = from[j];
    return;
  }
#pragma unroll
  for (int j = 0; j < columns_in_a_pass; j += Pack<T>::count) {
    const Pack<T> pack = *reinterpret_cast<const Pack<T>*>(from + j);
#pragma unroll
    for (int k = 0; k < Pack<T>::count; ++k) to.vectors[j + k][i] = pack.of[k];
  }
}
template <class T>
__global__ void set_columns_kernel(std::int64_t rows, PassOfColumns<const T> from, int stride, T* to) {
  const std::int64_t i = cuda::thread_number();
  if (i >= rows) return;
  to += i * stride;
  if (from.count < columns_in_a_pass) {
    for (int j = 0; j < from.count; ++j) to[j] = from.vectors[j][i];
    return;
  }
#pragma unroll
  for (int j = 0; j < columns_in_a_pass; j += Pack<T>::count) {
    Pack<T> pack;
#pragma unroll
    for (int k = 0; k < Pack<T>::count; ++k) pack.of[k] = from.vectors[j + k][i];
    *reinterpret_cast<Pack<T>*>(to + j) = pack;
  }
}

}  // namespace

template <std::floating_point T>
void cuda_set_column(const Vector<T>& from, const Vector<std::int32_t>& places, int c, MultiVector<T>& to) {
  cuda::launch(set_column_kernel<T>, blocks(to.rows()), block_threads, 0, to.rows(), from.data(), data_of(places),
               to.stride(), to.data() + c);
}
template <std::floating_point T>
void cuda_get_column(const MultiVector<T>& from, int c, const Vector<std::int32_t>& places, Vector<T>& to) {
  cuda::launch(get_column_kernel<T>, blocks(from.rows()), block_threads, 0, from.rows(), from.data() + c, from.stride(),
               data_of(places), to.data());
}

template <std::floating_point T>
void cuda_get_columns(const MultiVector<T>& from, int first, std::span<Vector<T>> to) {
  cuda::launch(get_columns_kernel<T>, blocks(from.rows()), block_threads, 0, from.rows(), from.data() + first,
               from.stride(), pass_of<T>(to));
}
template <std::floating_point T>
void cuda_set_columns(std::span<const Vector<T>> from, int first, MultiVector<T>& to) {
  cuda::launch(set_columns_kernel<T>, blocks(to.rows()), block_threads, 0, to.rows(), pass_of<const T>(from),
               to.stride(), to.data() + first);
}

template void cuda_set_column(const Vector<double>&, const Vector<std::int32_t>&, int, MultiVector<double>&);
template void cuda_set_column(const Vector<float>&, const Vector<std::int32_t>&, int, MultiVector<float>&);
template void cuda_get_column(const MultiVector<double>&, int, const Vector<std::int32_t>&, Vector<double>&);
template void cuda_get_column(const MultiVector<float>&, int, const Vector<std::int32_t>&, Vector<float>&);
template void cuda_get_columns(const MultiVector<double>&, int, std::span<Vector<double>>);
template void cuda_get_columns(const MultiVector<float>&, int, std::span<Vector<float>>);
template void cuda_set_columns(std::span<const Vector<double>>, int, MultiVector<double>&);
template void cuda_set_columns(std::span<const Vector<float>>, int, MultiVector<float>&);

}  // namespace femcg::operators
