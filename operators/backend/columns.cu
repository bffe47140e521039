// One column of interleaved vectors, a thread per row: whole rows pass through the memory for it, which happens where a
// solve begins and ends.

#include "operators/backend/columns.hpp"
#include "operators/backend/launch.cuh"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256;

std::int64_t blocks(std::int64_t size) { return (size + block_threads - 1) / block_threads; }

const std::int32_t* data_of(const Vector<std::int32_t>& places) { return places.size() > 0 ? places.data() : nullptr; }

template <class T>
__global__ void set_column_kernel(std::int64_t rows, const T* from, const std::int32_t* places, int stride, T* to) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < rows) to[i * stride] = from[places != nullptr ? places[i] : i];
}
template <class T>
__global__ void get_column_kernel(std::int64_t rows, const T* from, int stride, const std::int32_t* places, T* to) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < rows) to[places != nullptr ? places[i] : i] = from[i * stride];
}

}  // namespace

template <std::floating_point T>
void cuda_set_column(const Vector<T>& from, const Vector<std::int32_t>& places, int c, Columns<T>& to) {
  cuda::launch(set_column_kernel<T>, blocks(to.rows()), block_threads, 0, to.rows(), from.data(), data_of(places),
               to.stride(), to.data() + c);
}
template <std::floating_point T>
void cuda_get_column(const Columns<T>& from, int c, const Vector<std::int32_t>& places, Vector<T>& to) {
  cuda::launch(get_column_kernel<T>, blocks(from.rows()), block_threads, 0, from.rows(), from.data() + c, from.stride(),
               data_of(places), to.data());
}

template void cuda_set_column(const Vector<double>&, const Vector<std::int32_t>&, int, Columns<double>&);
template void cuda_set_column(const Vector<float>&, const Vector<std::int32_t>&, int, Columns<float>&);
template void cuda_get_column(const Columns<double>&, int, const Vector<std::int32_t>&, Vector<double>&);
template void cuda_get_column(const Columns<float>&, int, const Vector<std::int32_t>&, Vector<float>&);

}  // namespace femcg::operators
