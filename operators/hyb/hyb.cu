// The hybrid format on the GPU, in one kernel and without atomics. A warp takes a slice of 32 rows: first a thread a
// row through the padded part, entry k of 32 neighbouring rows at once, four of them in flight, as far as each row
// goes; then 8 threads a row, four rows together, through the rows of the slice that have a rest, whose sums are handed
// to the threads of these rows. y is written once, and all sums have one order.
//
// Moves sizeof(T) + 4 bytes a nonzero, 2 sizeof(T) + 4 + 1/8 an unknown, and 12 a row that has a rest. Padding is
// skipped (as ELLPACK-R does, which Bell & Garland's kernel does not): it is stored, but not read.
//
// Bell & Garland 2009, "Implementing sparse matrix-vector multiplication on throughput-oriented processors".

#include "operators/cuda_product.cuh"
#include "operators/hyb/hyb_matrix.hpp"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256;
constexpr int rest_threads = 8;  ///< a row with a rest

/// HybMatrix as plain pointers.
template <class T>
struct Parted {
  std::int64_t rows, stride;
  const std::int32_t* columns;
  const T* values;
  const std::int32_t* lengths;
  const std::int32_t* rest_of_slice;
  const std::int32_t* rest_rows;
  const std::int64_t* rest_offsets;
  const std::int32_t* rest_columns;
  const T* rest_values;
};

/// What the rest adds to the row of this thread. All lanes of the warp that has the slice call it.
template <class T>
__device__ T rest_of_row(const Parted<T>& a, const T* x, std::int64_t slice) {
  constexpr int rows_together = cuda::threads_a_warp / rest_threads;
  const int lane = static_cast<int>(threadIdx.x) % cuda::threads_a_warp;
  const std::int32_t end = __ldg(a.rest_of_slice + slice + 1);
  T of_row = 0;
  for (std::int32_t first = __ldg(a.rest_of_slice + slice); first < end; first += rows_together) {
    const std::int32_t i = first + lane / rest_threads;
    T sum = 0;
    int of_lane = -1;
    if (i < end) {
      const std::int64_t begin = __ldg(a.rest_offsets + i) + lane % rest_threads, last = __ldg(a.rest_offsets + i + 1);
      const auto count = static_cast<std::int32_t>((last - begin + rest_threads - 1) / rest_threads);
      sum = cuda::row_times_vector(a.rest_values, a.rest_columns, x, count,
                                   [&](std::int32_t k) { return begin + std::int64_t{k} * rest_threads; });
      of_lane = __ldg(a.rest_rows + i) % cuda::threads_a_warp;
    }
    sum = cuda::sum_of_lanes<rest_threads>(sum);
#pragma unroll
    for (int group = 0; group < rows_together; ++group) {
      const T found = __shfl_sync(cuda::all_lanes, sum, group * rest_threads);
      if (__shfl_sync(cuda::all_lanes, of_lane, group * rest_threads) == lane) of_row += found;
    }
  }
  return of_row;
}

template <class T, bool with_energy>
__global__ void __launch_bounds__(block_threads)
    hyb_kernel(Parted<T> a, const T* x, T* y, double* energy, cuda::Parts<1> parts) {
  double of_thread = 0;
  const std::int64_t threads = std::int64_t{gridDim.x} * block_threads;
  // Whole slices: no lane leaves before its warp.
  for (std::int64_t row = std::int64_t{blockIdx.x} * block_threads + threadIdx.x; row < a.stride; row += threads) {
    T sum = cuda::row_times_vector(a.values, a.columns, x, cuda::load_once(a.lengths + row),
                                   [&](std::int32_t k) { return k * a.stride + row; });
    sum += rest_of_row(a, x, row / cuda::threads_a_warp);
    if (row >= a.rows) continue;
    y[row] = sum;
    if constexpr (with_energy) of_thread += cuda::energy_of_row(__ldg(x + row), sum);
  }
  if constexpr (with_energy) cuda::give_energy(of_thread, energy, parts);
}

template <std::floating_point T>
class CudaHyb final : public Operator<T> {
 public:
  static_assert(HybMatrix<T>::slice_rows == cuda::threads_a_warp);

  CudaHyb(const HybMatrix<T>& a, Vector<T> diagonal)
      : Operator<T>(a.rows, Device::cuda),
        footprint_(footprint_of(a, true)),
        stride_(a.stride),
        columns_(copied(a.columns, Device::cuda)),
        values_(copied(a.values, Device::cuda)),
        lengths_(copied(a.lengths, Device::cuda)),
        rest_of_slice_(copied(a.rest_of_slice, Device::cuda)),
        rest_rows_(copied(a.rest_rows, Device::cuda)),
        rest_offsets_(copied(a.rest_offsets, Device::cuda)),
        rest_columns_(copied(a.rest_columns, Device::cuda)),
        rest_values_(copied(a.rest_values, Device::cuda)),
        diagonal_(std::move(diagonal)) {}

  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  Footprint footprint() const override { return footprint_; }

 private:
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    const Parted<T> a{
        this->size(),          stride_,           columns_.data(),      values_.data(),       lengths_.data(),
        rest_of_slice_.data(), rest_rows_.data(), rest_offsets_.data(), rest_columns_.data(), rest_values_.data()};
    product_(a, stride_, x, y, energy);
  }

  Footprint footprint_;
  std::int64_t stride_;
  Vector<std::int32_t> columns_;
  Vector<T> values_;
  Vector<std::int32_t> lengths_, rest_of_slice_, rest_rows_;
  Vector<std::int64_t> rest_offsets_;
  Vector<std::int32_t> rest_columns_;
  Vector<T> rest_values_;
  Vector<T> diagonal_;  ///< on the host
  cuda::Product<T, Parted<T>> product_{hyb_kernel<T, false>, hyb_kernel<T, true>, block_threads};
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_hyb_cuda(const HybMatrix<T>& a, Vector<T> diagonal) {
  return std::make_unique<CudaHyb<T>>(a, std::move(diagonal));
}

template std::unique_ptr<Operator<double>> make_hyb_cuda(const HybMatrix<double>&, Vector<double>);
template std::unique_ptr<Operator<float>> make_hyb_cuda(const HybMatrix<float>&, Vector<float>);

}  // namespace femcg::operators
