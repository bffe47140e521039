// Blocks of a smoother on a GPU: one warp per row of a block; 4 bytes of the inverse move per entry, and the residual
// is read by every row of a block, from the cache. Then one thread per unknown adds up the solutions of its blocks in a
// fixed order, so that two runs give the same bits.

#include "operators/backend/launch.cuh"
#include "operators/transfers/local_solves.hpp"

namespace femcg::operators {

namespace {

constexpr int block_threads = 128, rows_per_block = block_threads / cuda::threads_per_warp;

template <class T>
__global__ void __launch_bounds__(block_threads)
    local_solve_kernel(std::int32_t rows, const std::int32_t* block_of_row, const std::int32_t* begin,
                       const std::int32_t* unknowns, const std::int64_t* values_begin, const float* values, int stride,
                       const T* r, const T* q, T* solutions) {
  const int lane = static_cast<int>(threadIdx.x) % cuda::threads_per_warp,
            row =
                static_cast<int>(blockIdx.x) * rows_per_block + static_cast<int>(threadIdx.x) / cuda::threads_per_warp;
  if (row >= rows) return;
  const std::int32_t block = block_of_row[row], first = begin[block], size = begin[block + 1] - first;
  const float* inverse = values + values_begin[block] + static_cast<std::int64_t>(row - first) * size;
  for (int c = 0; c < stride; ++c) {
    T sum = 0;
    for (int j = lane; j < size; j += cuda::threads_per_warp) {
      const std::int64_t at = std::int64_t{unknowns[first + j]} * stride + c;
      sum = fma(static_cast<T>(inverse[j]), q != nullptr ? r[at] - q[at] : r[at], sum);
    }
    for (int distance = cuda::threads_per_warp / 2; distance > 0; distance /= 2)
      sum += __shfl_xor_sync(cuda::all_lanes, sum, distance);
    if (lane == 0) solutions[std::int64_t{row} * stride + c] = sum;
  }
}

/// Adds the solutions of all blocks of an unknown to d and x. One thread for each of `count` unknowns times columns.
template <class T>
__global__ void __launch_bounds__(block_threads)
    sum_over_blocks_kernel(std::int64_t count, const std::int32_t* unknowns, const std::int32_t* begin,
                           const std::int32_t* places, T factor, int stride, const T* solutions, T* d, T* x) {
  const std::int64_t k = cuda::thread_number();
  if (k >= count) return;
  const std::int64_t i = k / stride, c = k % stride;
  T sum = 0;
  for (std::int32_t at = begin[i]; at < begin[i + 1]; ++at) sum += solutions[std::int64_t{places[at]} * stride + c];
  const std::int64_t at = std::int64_t{unknowns[i]} * stride + c;
  d[at] += factor * sum;
  x[at] += factor * sum;
}

template <std::floating_point T>
class CudaLocalSolves final : public LocalSolves<T> {
 public:
  explicit CudaLocalSolves(const BlockInverses& of) : CudaLocalSolves(of, PlacesInBlocks(of)) {}

  std::int64_t stored_bytes() const override {
    return block_of_row_.bytes() + begin_.bytes() + unknowns_.bytes() + values_begin_.bytes() + values_.bytes() +
           summed_.bytes() + summed_begin_.bytes() + places_.bytes() + solutions_.bytes();
  }
  std::int64_t count() const override { return blocks_; }

 private:
  CudaLocalSolves(const BlockInverses& of, const PlacesInBlocks& places)
      : blocks_(of.count()),
        block_of_row_(on_gpu(blocks_of_rows(of))),
        begin_(on_gpu(of.begin)),
        unknowns_(on_gpu(of.unknowns)),
        values_begin_(on_gpu(of.values_begin)),
        values_(on_gpu(of.values)),
        summed_(on_gpu(places.unknowns)),
        summed_begin_(on_gpu(places.begin)),
        places_(on_gpu(places.places)),
        solutions_(unknowns_.size(), Device::cuda) {}

  void add_rows(T factor, const Vector<T>& r, const Vector<T>* q, int stride, Vector<T>& d,
                Vector<T>& x) const override {
    const std::int64_t rows = unknowns_.size();
    if (solutions_.size() != rows * stride) solutions_ = Vector<T>(rows * stride, Device::cuda);
    cuda::launch(local_solve_kernel<T>, (rows + rows_per_block - 1) / rows_per_block, block_threads, 0,
                 static_cast<std::int32_t>(rows), block_of_row_.data(), begin_.data(), unknowns_.data(),
                 values_begin_.data(), values_.data(), stride, r.data(), q != nullptr ? q->data() : nullptr,
                 solutions_.data());
    const std::int64_t sums = summed_.size() * stride;
    cuda::launch(sum_over_blocks_kernel<T>, cuda::blocks_of(sums, block_threads), block_threads, 0, sums,
                 summed_.data(), summed_begin_.data(), places_.data(), factor, stride, solutions_.data(), d.data(),
                 x.data());
  }
  template <class Entry>
  static Vector<Entry> on_gpu(const std::vector<Entry>& of) {
    Vector<Entry> there(static_cast<std::int64_t>(of.size()), Device::cuda);
    copy_bytes(of.data(), Device::host, there.data(), Device::cuda, there.bytes());
    return there;
  }

  static std::vector<std::int32_t> blocks_of_rows(const BlockInverses& of) {
    std::vector<std::int32_t> blocks;
    for (std::int32_t block = 0; block < of.count(); ++block) blocks.resize(of.begin[block + 1], block);
    return blocks;
  }

  std::int64_t blocks_;
  Vector<std::int32_t> block_of_row_, begin_, unknowns_;
  Vector<std::int64_t> values_begin_;
  Vector<float> values_;
  Vector<std::int32_t> summed_, summed_begin_, places_;  ///< PlacesInBlocks
  mutable Vector<T> solutions_;                          ///< A_b^-1 R_b (r - q), block after block
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<LocalSolves<T>> make_cuda_local_solves(const BlockInverses& inverses) {
  return std::make_unique<CudaLocalSolves<T>>(inverses);
}

template std::unique_ptr<LocalSolves<double>> make_cuda_local_solves(const BlockInverses&);
template std::unique_ptr<LocalSolves<float>> make_cuda_local_solves(const BlockInverses&);

}  // namespace femcg::operators
