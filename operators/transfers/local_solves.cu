// Block Jacobi on a GPU: a thread block for each block of unknowns, a warp for each of its rows in turn; 4 bytes of the
// inverse move for each entry. The residual is read again by every row, from the cache.

#include "operators/backend/launch.cuh"
#include "operators/transfers/local_solves.hpp"

namespace femcg::operators {

namespace {

constexpr int block_threads = 128;

template <class T>
__global__ void __launch_bounds__(block_threads)
    local_solve_kernel(const std::int32_t* begin, const std::int32_t* unknowns, const std::int64_t* values_begin,
                       const float* values, T factor, const T* r, const T* q, T* d, T* x) {
  const std::int32_t first = begin[blockIdx.x], size = begin[blockIdx.x + 1] - first;
  const float* inverse = values + values_begin[blockIdx.x];
  const int lane = static_cast<int>(threadIdx.x) % cuda::threads_per_warp;
  for (int i = static_cast<int>(threadIdx.x) / cuda::threads_per_warp; i < size;
       i += block_threads / cuda::threads_per_warp) {
    T sum = 0;
    for (int j = lane; j < size; j += cuda::threads_per_warp) {
      const std::int32_t unknown = unknowns[first + j];
      sum = fma(static_cast<T>(inverse[static_cast<std::int64_t>(i) * size + j]),
                q != nullptr ? r[unknown] - q[unknown] : r[unknown], sum);
    }
    for (int distance = cuda::threads_per_warp / 2; distance > 0; distance /= 2)
      sum += __shfl_xor_sync(cuda::all_lanes, sum, distance);
    if (lane == 0) {
      d[unknowns[first + i]] += factor * sum;
      x[unknowns[first + i]] += factor * sum;
    }
  }
}

template <std::floating_point T>
class CudaLocalSolves final : public LocalSolves<T> {
 public:
  explicit CudaLocalSolves(const BlockInverses& of)
      : blocks_(of.count()),
        begin_(on_gpu(of.begin)),
        unknowns_(on_gpu(of.unknowns)),
        values_begin_(on_gpu(of.values_begin)),
        values_(on_gpu(of.values)) {}

  void add(T factor, const Vector<T>& r, const Vector<T>* q, Vector<T>& d, Vector<T>& x) const override {
    cuda::launch(local_solve_kernel<T>, blocks_, block_threads, 0, begin_.data(), unknowns_.data(),
                 values_begin_.data(), values_.data(), factor, r.data(), q != nullptr ? q->data() : nullptr, d.data(),
                 x.data());
  }
  std::int64_t stored_bytes() const override {
    return begin_.bytes() + unknowns_.bytes() + values_begin_.bytes() + values_.bytes();
  }
  std::int64_t count() const override { return blocks_; }

 private:
  template <class Entry>
  static Vector<Entry> on_gpu(const std::vector<Entry>& of) {
    Vector<Entry> there(static_cast<std::int64_t>(of.size()), Device::cuda);
    copy_bytes(of.data(), Device::host, there.data(), Device::cuda, there.bytes());
    return there;
  }

  std::int64_t blocks_;
  Vector<std::int32_t> begin_, unknowns_;
  Vector<std::int64_t> values_begin_;
  Vector<float> values_;
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<LocalSolves<T>> make_cuda_local_solves(const BlockInverses& inverses) {
  return std::make_unique<CudaLocalSolves<T>>(inverses);
}

template std::unique_ptr<LocalSolves<double>> make_cuda_local_solves(const BlockInverses&);
template std::unique_ptr<LocalSolves<float>> make_cuda_local_solves(const BlockInverses&);

}  // namespace femcg::operators
