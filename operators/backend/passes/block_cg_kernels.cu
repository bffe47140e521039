// Vector kernels of block CG on the GPU. Words read and written per unknown and column: product 2, update 3, advance 6
// (7 with z), and the diagonal once for all columns.

#include <algorithm>
#include <array>

#include "operators/backend/cuda/block_kernels.cuh"
#include "operators/backend/passes/block_cg_kernels.hpp"

namespace femcg::operators {

namespace {

using cuda::block_cg_threads;
using cuda::DenseMatrix;
using cuda::DenseStep;

template <class T, int stride>
__global__ void __launch_bounds__(block_cg_threads)
    product_kernel(std::int64_t rows, const T* a, const T* b, double* parts) {
  cuda::product_of_block<T, stride>(rows, a, b, parts);
}
template <class T, int stride, bool with_diagonal>
__global__ void __launch_bounds__(block_cg_threads)
    update_kernel(std::int64_t rows, const T* q, __grid_constant__ const DenseMatrix<T, stride> step,
                  const float* inverse_diagonal, T* w, double* parts) {
  cuda::update_of_block<T, stride, with_diagonal>(rows, q, step, inverse_diagonal, w, parts);
}
template <class T, int stride>
__global__ void __launch_bounds__(block_cg_threads)
    advance_kernel(std::int64_t rows, __grid_constant__ const DenseStep<T, stride> step, const float* inverse_diagonal,
                   const T* z, T* w, T* s, T* x) {
  cuda::advance_block(rows, step, inverse_diagonal, z, w, s, x);
}

/// sums[n] = sum over the blocks of their value n. One warp a value; its lanes stride over the blocks.
__global__ void __launch_bounds__(block_cg_threads)
    add_parts_kernel(const double* parts, std::int64_t blocks, int numbers, double* sums) {
  const int lane = static_cast<int>(threadIdx.x) % cuda::threads_per_warp;
  const int n = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / cuda::threads_per_warp);
  if (n >= numbers) return;
  double sum = 0;
  for (std::int64_t block = lane; block < blocks; block += cuda::threads_per_warp) sum += parts[block * numbers + n];
  for (int distance = cuda::threads_per_warp / 2; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(cuda::all_lanes, sum, distance);
  if (lane == 0) sums[n] = sum;
}

template <class T, int stride>
DenseMatrix<T, stride> dense(const SmallMatrix& from) {
  DenseMatrix<T, stride> to;
  for (int i = 0; i < stride; ++i)
    for (int j = 0; j < stride; ++j) to.of[i][j] = static_cast<T>(from(i, j));
  return to;
}

template <std::floating_point T>
class CudaBlockCgKernels final : public BlockCgKernels<T> {
 public:
  SmallMatrix product(const MultiVector<T>& a, const MultiVector<T>& b) override {
    return with_any_stride(a.stride(), [&]<int stride>() {
      return sums<stride, 1>(product_kernel<T, stride>, a.rows(), a.data(), b.data())[0];
    });
  }
  BlockNorms update(const MultiVector<T>& q, const SmallMatrix& step, const InverseDiagonal* inverse_diagonal,
                    MultiVector<T>& w) override {
    return with_any_stride(w.stride(), [&]<int stride>() {
      const auto of_step = dense<T, stride>(step);
      if (inverse_diagonal == nullptr) {
        auto found = sums<stride, 1>(update_kernel<T, stride, false>, w.rows(), q.data(), of_step,
                                     data_of(inverse_diagonal), w.data());
        return BlockNorms{found[0], found[0]};
      }
      auto found = sums<stride, 2>(update_kernel<T, stride, true>, w.rows(), q.data(), of_step,
                                   data_of(inverse_diagonal), w.data());
      return BlockNorms{found[0], found[1]};
    });
  }
  void advance(const BlockStep& step, const InverseDiagonal* inverse_diagonal, const MultiVector<T>* z,
               MultiVector<T>& w, MultiVector<T>& s, MultiVector<T>& x) override {
    with_any_stride(w.stride(), [&]<int stride>() {
      const DenseStep<T, stride> of_step{dense<T, stride>(step.correction), dense<T, stride>(step.normaliser),
                                         dense<T, stride>(step.direction)};
      cuda::launch(advance_kernel<T, stride>, blocks<stride>(advance_kernel<T, stride>, w.rows()), block_cg_threads, 0,
                   w.rows(), of_step, data_of(inverse_diagonal), z != nullptr ? z->data() : nullptr, w.data(), s.data(),
                   x.data());
    });
  }

 private:
  template <int stride, class Kernel>
  static std::int64_t blocks(Kernel kernel, std::int64_t rows) {
    constexpr std::int64_t rows_of_tile = block_cg_threads / stride;
    return std::clamp<std::int64_t>((rows + rows_of_tile - 1) / rows_of_tile, 1,
                                    cuda::resident_blocks(kernel, block_cg_threads));
  }
  /// Runs a kernel that sums `count` matrices over the rows, and returns the matrices; waits for the GPU.
  template <int stride, int count, class Kernel, class... Arguments>
  std::vector<SmallMatrix> sums(Kernel kernel, std::int64_t rows, Arguments&&... arguments) {
    constexpr int of_one = stride * stride, numbers = count * of_one;
    const std::int64_t grid = blocks<stride>(kernel, rows);
    if (parts_.size() < grid * numbers) parts_ = Vector<double>(grid * numbers, Device::cuda);
    if (added_.size() != numbers) added_ = Vector<double>(numbers, Device::cuda);
    cuda::launch(kernel, grid, block_cg_threads, 0, rows, std::forward<Arguments>(arguments)..., parts_.data());
    constexpr int threads = numbers * cuda::threads_per_warp;
    cuda::launch(add_parts_kernel, (threads + block_cg_threads - 1) / block_cg_threads, block_cg_threads, 0,
                 parts_.data(), grid, numbers, added_.data());
    Vector<double> on_host(numbers);
    copy(added_, on_host);
    std::vector<SmallMatrix> found(count, SmallMatrix(stride));
    for (int n = 0; n < count; ++n) std::copy_n(on_host.data() + n * of_one, of_one, found[n].data());
    return found;
  }

  Vector<double> parts_, added_;  ///< of blocks; of the grid
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<BlockCgKernels<T>> make_cuda_block_cg_kernels() {
  return std::make_unique<CudaBlockCgKernels<T>>();
}

template std::unique_ptr<BlockCgKernels<double>> make_cuda_block_cg_kernels();
template std::unique_ptr<BlockCgKernels<float>> make_cuda_block_cg_kernels();

}  // namespace femcg::operators
