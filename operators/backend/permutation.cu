// Permutations of vectors, a thread per entry: 4 bytes of the list and two words per entry, one of them scattered.

#include "operators/backend/cuda/launch.cuh"
#include "operators/backend/permutation.hpp"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256;

std::int64_t blocks(std::int64_t size) { return (size + block_threads - 1) / block_threads; }

template <class T>
__global__ void gather_kernel(std::int64_t size, const T* from, const std::int32_t* places, T* to) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < size) to[i] = from[places[i]];
}
template <class T>
__global__ void scatter_kernel(std::int64_t size, const T* from, const std::int32_t* places, T* to) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < size) to[places[i]] = from[i];
}

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

template void cuda_gather(const Vector<double>&, const Vector<std::int32_t>&, Vector<double>&);
template void cuda_gather(const Vector<float>&, const Vector<std::int32_t>&, Vector<float>&);
template void cuda_scatter(const Vector<double>&, const Vector<std::int32_t>&, Vector<double>&);
template void cuda_scatter(const Vector<float>&, const Vector<std::int32_t>&, Vector<float>&);

}  // namespace femcg::operators
