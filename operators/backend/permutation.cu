// Permutations of vectors, a thread per entry: 4 bytes of the list and two words per entry, one of them scattered.

#include "operators/backend/launch.cuh"
#include "operators/backend/permutation.hpp"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256;

std::int64_t blocks(std::int64_t size) { return cuda::blocks_of(size, block_threads); }

template <class T>
__global__ void gather_kernel(std::int64_t size, const T* from, const std::int32_t* places, T* to) {
  const std::int64_t i = cuda::thread_number();
  if (i < size) to[i] = from[places[i]];
}
template <class T>
__global__ void scatter_kernel(std::int64_t size, const T* from, const std::int32_t* places, T* to) {
  const std::int64_t i = cuda::thread_number();
  if (i < size) to[places[i]] = from[i];
}
template <class T>
__global__ void gather_rounded_kernel(std::int64_t size, const double* from, const std::int32_t* places, T* to) {
  const std::int64_t i = cuda::thread_number();
  if (i < size) to[i] = static_cast<T>(from[places != nullptr ? places[i] : i]);
}
template <class T>
__global__ void scatter_added_kernel(std::int64_t size, const T* from, const std::int32_t* places, double* to) {
  const std::int64_t i = cuda::thread_number();
  if (i < size) to[places != nullptr ? places[i] : i] += static_cast<double>(from[i]);
}

const std::int32_t* data_of(const Vector<std::int32_t>& places) { return places.size() > 0 ? places.data() : nullptr; }

}  // namespace

template <std::floating_point T>
void cuda_gather(const Vector<T>& from, const Vector<std::int32_t>& places, Vector<T>& to) {
  cuda::launch(gather_kernel<T>, blocks(to.size()), block_threads, 0, to.size(), from.data(), places.data(), to.data());
}
template <std::floating_point T>
void cuda_scatter(const Vector<T>& from, const Vector<std::int32_t>& places, Vector<T>& to) {
  cuda::launch(scatter_kernel<T>, blocks(to.size()), block_threads, 0, to.size(), from.data(), places.data(),
               to.data());
}
template <std::floating_point T>
void cuda_gather_rounded(const Vector<double>& from, const Vector<std::int32_t>& places, Vector<T>& to) {
  cuda::launch(gather_rounded_kernel<T>, blocks(to.size()), block_threads, 0, to.size(), from.data(), data_of(places),
               to.data());
}
template <std::floating_point T>
void cuda_scatter_added(const Vector<T>& from, const Vector<std::int32_t>& places, Vector<double>& to) {
  cuda::launch(scatter_added_kernel<T>, blocks(to.size()), block_threads, 0, to.size(), from.data(), data_of(places),
               to.data());
}

template void cuda_gather(const Vector<double>&, const Vector<std::int32_t>&, Vector<double>&);
template void cuda_gather(const Vector<float>&, const Vector<std::int32_t>&, Vector<float>&);
template void cuda_scatter(const Vector<double>&, const Vector<std::int32_t>&, Vector<double>&);
template void cuda_scatter(const Vector<float>&, const Vector<std::int32_t>&, Vector<float>&);
template void cuda_gather_rounded(const Vector<double>&, const Vector<std::int32_t>&, Vector<double>&);
template void cuda_gather_rounded(const Vector<double>&, const Vector<std::int32_t>&, Vector<float>&);
template void cuda_scatter_added(const Vector<double>&, const Vector<std::int32_t>&, Vector<double>&);
template void cuda_scatter_added(const Vector<float>&, const Vector<std::int32_t>&, Vector<double>&);

}  // namespace femcg::operators
