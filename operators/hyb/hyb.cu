// The hybrid format on the GPU, in one kernel and without atomics. A warp takes a slice of 32 rows: first a thread a
// row through the padded part, entry k of 32 neighbouring rows at once, as far as each row goes, four entries and the
// next four in flight; then 8 threads per row, four rows together, through the rows of the slice that have a rest,
// whose sums are handed to the threads of these rows. y is written once, and all sums have one order.
//
// Moves sizeof(T) + 4 bytes per nonzero, 2 sizeof(T) + 4 + 1/8 an unknown, and 12 a row that has a rest. Padding is
// skipped (as ELLPACK-R does, which Bell & Garland's kernel does not): it is stored, but not read.
//
// Bell & Garland 2009, "Implementing sparse matrix-vector multiplication on throughput-oriented processors".

#include "operators/hyb/hyb_matrix.hpp"
#include "operators/sparse/conversion.cuh"
#include "operators/sparse/slots.cuh"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256, resident_blocks = 4;  ///< a multiprocessor: at most 64 registers per thread
constexpr int rest_threads = 8;                          ///< a row with a rest

/// HybMatrix as plain pointers.
template <class T>
struct Parted {
  std::int64_t rows;
  const std::int32_t* lengths;  ///< in the padded part
  cuda::Slots<T> padded;        ///< rows, in whole slices
  const std::int32_t* rest_of_slice;
  const std::int32_t* rest_rows;
  const std::int64_t* rest_offsets;
  const std::int32_t* rest_columns;
  const T* rest_values;
};

/// What the rest adds to the row of this thread. All lanes of the warp that has the slice call it.
template <class T>
__device__ T rest_of_row(const Parted<T>& a, const T* x, std::int64_t slice) {
  constexpr int rows_together = cuda::threads_per_warp / rest_threads;
  const int lane = static_cast<int>(threadIdx.x) % cuda::threads_per_warp;
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
      of_lane = __ldg(a.rest_rows + i) % cuda::threads_per_warp;
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
__global__ void __launch_bounds__(block_threads, resident_blocks)
    hyb_kernel(Parted<T> a, const T* x, T* y, double* energy, cuda::Parts<1> parts) {
  double of_thread = 0;
  cuda::multiply_slots(
      a.padded, x, [&](std::int64_t row) { return cuda::load_once(a.lengths + row); },
      [&](std::int64_t row, T of_padded) {
        const T sum = of_padded + rest_of_row(a, x, row / cuda::threads_per_warp);
        if (row >= a.rows) return;
        y[row] = sum;
        if constexpr (with_energy) of_thread += cuda::energy_of_row(__ldg(x + row), sum);
      });
  if constexpr (with_energy) cuda::give_energy(of_thread, energy, parts);
}

/// A thread per row moves what is in the padded part, whose padding is never read.
template <class T>
struct PaddedMap {
  const std::int64_t* row_offsets;  ///< of the source
  Parted<T> a;
  __device__ std::int64_t count(std::int64_t row) const { return a.lengths[row]; }
  __device__ std::int64_t from(std::int64_t row, std::int64_t k) const { return row_offsets[row] + k; }
  __device__ std::int64_t to(std::int64_t row, std::int64_t k) const { return k * a.padded.count + row; }
};

/// 8 threads per row move what is beyond `width` entries.
template <class T>
struct RestMap {
  const std::int64_t* row_offsets;  ///< of the source
  std::int64_t width;
  Parted<T> a;
  __device__ std::int64_t first(std::int64_t thread) const {
    return a.rest_offsets[thread / rest_threads] + thread % rest_threads;
  }
  __device__ std::int64_t count(std::int64_t thread) const {
    return (a.rest_offsets[thread / rest_threads + 1] - first(thread) + rest_threads - 1) / rest_threads;
  }
  __device__ std::int64_t from(std::int64_t thread, std::int64_t k) const {
    return row_offsets[a.rest_rows[thread / rest_threads]] + width + thread % rest_threads + k * rest_threads;
  }
  __device__ std::int64_t to(std::int64_t thread, std::int64_t k) const { return first(thread) + k * rest_threads; }
};

template <std::floating_point T>
HybMatrix<T> lists_on_gpu(const HybMatrix<T>& lists) {
  HybMatrix<T> a;
  a.rows = lists.rows;
  a.nonzeros = lists.nonzeros;
  a.width = lists.width;
  a.stride = lists.stride;
  a.rest_entries = lists.rest_entries;
  a.lengths = copied(lists.lengths, Device::cuda);
  a.rest_of_slice = copied(lists.rest_of_slice, Device::cuda);
  a.rest_rows = copied(lists.rest_rows, Device::cuda);
  a.rest_offsets = copied(lists.rest_offsets, Device::cuda);
  return a;
}

template <std::floating_point T>
class CudaHyb final : public Operator<T> {
 public:
  static_assert(HybMatrix<T>::slice_rows == cuda::threads_per_warp);

  CudaHyb(const HybMatrix<T>& lists, const CsrMatrix<T>& matrix, Vector<T> diagonal)
      : Operator<T>(lists.rows, Device::cuda), a_(lists_on_gpu(lists)), diagonal_(std::move(diagonal)) {
    a_.columns = Vector<std::int32_t>(a_.width * a_.stride, Device::cuda);
    a_.values = Vector<T>(a_.width * a_.stride, Device::cuda);
    a_.rest_columns = Vector<std::int32_t>(a_.rest_entries, Device::cuda);
    a_.rest_values = Vector<T>(a_.rest_entries, Device::cuda);
    const cuda::SourceOnGpu<T> source(matrix);
    const std::int64_t* row_offsets = source.pointers().offsets;
    cuda::move_entries(a_.rows, PaddedMap<T>{row_offsets, pointers()}, source, a_.columns, a_.values);
    cuda::move_entries(a_.rest_rows.size() * rest_threads, RestMap<T>{row_offsets, a_.width, pointers()}, source,
                       a_.rest_columns, a_.rest_values);
  }

  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  std::map<std::string, std::string> chosen() const override { return {{"width", std::to_string(a_.width)}}; }
  Footprint footprint() const override { return footprint_of(a_, true); }

 private:
  Parted<T> pointers() const {
    return {a_.rows,
            a_.lengths.data(),
            {a_.stride, a_.columns.data(), a_.values.data()},
            a_.rest_of_slice.data(),
            a_.rest_rows.data(),
            a_.rest_offsets.data(),
            a_.rest_columns.data(),
            a_.rest_values.data()};
  }
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    product_(pointers(), a_.stride, x, y, energy);
  }

  HybMatrix<T> a_;
  Vector<T> diagonal_;  ///< on the host
  cuda::Product<T, Parted<T>> product_{hyb_kernel<T, false>, hyb_kernel<T, true>, block_threads};
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_hyb_cuda(const HybMatrix<T>& lists, const CsrMatrix<T>& matrix, Vector<T> diagonal) {
  return std::make_unique<CudaHyb<T>>(lists, matrix, std::move(diagonal));
}

template std::unique_ptr<Operator<double>> make_hyb_cuda(const HybMatrix<double>&, const CsrMatrix<double>&,
                                                         Vector<double>);
template std::unique_ptr<Operator<float>> make_hyb_cuda(const HybMatrix<float>&, const CsrMatrix<float>&,
                                                        Vector<float>);

}  // namespace femcg::operators
