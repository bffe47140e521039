// Aligned compressed rows on the GPU: 16 threads take four neighbouring rows together, 16 entries of each at once, so
// that each thread has four independent chains of column, value and entry of x, however short the rows are. Rows begin
// at multiples of 16 entries, so that every such read is of whole sectors. The four sums of 16 threads are added up in
// one exchange, after which four of them have one row's each.
//
// Nothing but x is waited for: where rows begin and end is on its way since two groups of rows ago, columns and values
// since the step before.
//
// Moves sizeof(T) + 4 bytes per nonzero and 2 sizeof(T) + 8 an unknown; the last sector of a row brings padding with
// it.
//
// Baskaran & Bordawekar 2009, "Optimizing sparse matrix-vector multiplication on GPUs": a half-warp per row, aligned
// access by padding, x through the read-only cache.

#include "operators/backend/cuda/product.cuh"
#include "operators/csr_aligned/csr_aligned_matrix.hpp"
#include "operators/sparse/conversion.cuh"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256, resident_blocks = 4;  ///< a multiprocessor: at most 64 registers per thread
constexpr int row_threads = 16, rows_together = 4;
constexpr int threads_per_sum = row_threads / rows_together;

/// AlignedRows as plain pointers.
template <class T>
struct Aligned {
  std::int64_t rows;
  const std::int32_t* starts;
  const std::int32_t* lengths;
  const std::int32_t* columns;
  const T* values;
};

/// Adds up `sums` of 16 threads: the sum of row j is known to those whose lane / 4 is j. Halves exchange two sums each,
/// quarters one: five shuffles instead of sixteen.
template <class T>
__device__ T exchange_sums(const T (&sums)[rows_together], int lane) {
  const bool upper = (lane & 8) != 0, odd = (lane & 4) != 0;
  T first = upper ? sums[2] : sums[0], second = upper ? sums[3] : sums[1];
  first += __shfl_xor_sync(cuda::all_lanes, upper ? sums[0] : sums[2], 8);
  second += __shfl_xor_sync(cuda::all_lanes, upper ? sums[1] : sums[3], 8);
  T sum = odd ? second : first;
  sum += __shfl_xor_sync(cuda::all_lanes, odd ? first : second, 4);
  sum += __shfl_xor_sync(cuda::all_lanes, sum, 2);
  return sum + __shfl_xor_sync(cuda::all_lanes, sum, 1);
}

/// Where a row begins, in alignments, and its length.
struct Extent {
  std::int32_t start, length;
};

/// That of one of the four rows from `first` on, the one at lane % 4; of no entries behind the last row.
template <class T>
__device__ Extent extent_of(const Aligned<T>& a, std::int64_t first, int lane) {
  const std::int64_t row = first + lane % rows_together;
  if (row >= a.rows) return {0, 0};
  return {__ldg(a.starts + row), __ldg(a.lengths + row)};
}

/// Four neighbouring rows, as each of their 16 threads knows them.
struct Rows {
  std::int32_t starts[rows_together], lengths[rows_together];

  /// All lanes of the warp call it, each with what extent_of gave it.
  __device__ explicit Rows(const Extent& mine) {
#pragma unroll
    for (int j = 0; j < rows_together; ++j) {
      starts[j] = __shfl_sync(cuda::all_lanes, mine.start, j, row_threads);
      lengths[j] = __shfl_sync(cuda::all_lanes, mine.length, j, row_threads);
    }
  }
  __device__ std::int32_t longest() const { return max(max(lengths[0], lengths[1]), max(lengths[2], lengths[3])); }
};

/// Entry k of each of four rows.
template <class T>
struct Entries {
  std::int32_t columns[rows_together];  ///< -1 behind a row's end
  T values[rows_together];

  __device__ Entries(const Aligned<T>& a, const Rows& rows, std::int32_t k) {
#pragma unroll
    for (int j = 0; j < rows_together; ++j) {
      const std::int64_t at = std::int64_t{rows.starts[j]} * row_threads + k;
      const bool exists = k < rows.lengths[j];
      columns[j] = exists ? cuda::load_once(a.columns + at) : -1;
      values[j] = exists ? cuda::load_once(a.values + at) : T{0};
    }
  }
  __device__ void add_products(const T* __restrict__ x, T (&sums)[rows_together]) const {
#pragma unroll
    for (int j = 0; j < rows_together; ++j)
      if (columns[j] >= 0) sums[j] += values[j] * __ldg(x + columns[j]);
  }
};

template <class T, bool with_energy>
__global__ void __launch_bounds__(block_threads, resident_blocks)
    csr_aligned_kernel(Aligned<T> a, const T* x, T* y, double* energy, cuda::Parts<1> parts) {
  constexpr int rows_per_warp = cuda::threads_per_warp / row_threads * rows_together;
  const int lane = static_cast<int>(threadIdx.x) % row_threads;
  const int row_of_warp =
      static_cast<int>(threadIdx.x) % cuda::threads_per_warp / row_threads * rows_together;  // the first of four
  double of_thread = 0;
  const std::int64_t warps = std::int64_t{gridDim.x} * (block_threads / cuda::threads_per_warp);
  const std::int64_t warp = (std::int64_t{blockIdx.x} * block_threads + threadIdx.x) / cuda::threads_per_warp;
  const std::int64_t stride = warps * rows_per_warp;
  std::int64_t first = warp * rows_per_warp + row_of_warp;
  Rows rows(extent_of(a, first, lane));
  Extent next_extent = extent_of(a, first + stride, lane);
  Entries<T> entries(a, rows, lane);
  // As long as a row of the warp's is one of the matrix: all its lanes, for Rows and exchange_sums.
  for (; first - row_of_warp < a.rows; first += stride) {
    T sums[rows_together] = {};
#pragma unroll 1
    for (std::int32_t step = row_threads; step < rows.longest(); step += row_threads) {
      const Entries<T> next(a, rows, step + lane);
      entries.add_products(x, sums);
      entries = next;
    }
    __syncwarp();  // what follows is loaded for both halves at once
    rows = Rows(next_extent);
    next_extent = extent_of(a, first + 2 * stride, lane);
    const Entries<T> next(a, rows, lane);
    entries.add_products(x, sums);
    entries = next;
    const T sum = exchange_sums(sums, lane);
    const std::int64_t row = first + lane / threads_per_sum;
    if (lane % threads_per_sum != 0 || row >= a.rows) continue;
    y[row] = sum;
    if constexpr (with_energy) of_thread += cuda::energy_of_row(__ldg(x + row), sum);
  }
  if constexpr (with_energy) cuda::give_energy(of_thread, energy, parts);
}

/// 16 threads per row move it; its padding is never read.
template <class T>
struct AlignedMap {
  const std::int64_t* row_offsets;  ///< of the source
  Aligned<T> a;
  __device__ std::int64_t count(std::int64_t thread) const {
    return (a.lengths[thread / row_threads] - thread % row_threads + row_threads - 1) / row_threads;
  }
  __device__ std::int64_t from(std::int64_t thread, std::int64_t k) const {
    return row_offsets[thread / row_threads] + thread % row_threads + k * row_threads;
  }
  __device__ std::int64_t to(std::int64_t thread, std::int64_t k) const {
    return (a.starts[thread / row_threads] + k) * row_threads + thread % row_threads;
  }
};

template <std::floating_point T>
class CudaCsrAligned final : public Operator<T> {
 public:
  static_assert(AlignedRows<T>::alignment == row_threads);

  CudaCsrAligned(const AlignedRows<T>& lists, const CsrMatrix<T>& matrix, Vector<T> diagonal)
      : Operator<T>(lists.rows, Device::cuda),
        a_{lists.rows,
           lists.nonzeros,
           lists.entries,
           copied(lists.starts, Device::cuda),
           copied(lists.lengths, Device::cuda),
           Vector<std::int32_t>(lists.entries, Device::cuda),
           Vector<T>(lists.entries, Device::cuda)},
        diagonal_(std::move(diagonal)) {
    const cuda::SourceOnGpu<T> source(matrix);
    cuda::move_entries(std::int64_t{a_.rows} * row_threads, AlignedMap<T>{source.pointers().offsets, pointers()},
                       source, a_.columns, a_.values);
  }

  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  Footprint footprint() const override { return footprint_of(a_); }

 private:
  Aligned<T> pointers() const {
    return {a_.rows, a_.starts.data(), a_.lengths.data(), a_.columns.data(), a_.values.data()};
  }
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    const std::int64_t groups = (std::int64_t{a_.rows} + rows_together - 1) / rows_together;
    product_(pointers(), groups * row_threads, x, y, energy);
  }

  AlignedRows<T> a_;
  Vector<T> diagonal_;  ///< on the host
  cuda::Product<T, Aligned<T>> product_{csr_aligned_kernel<T, false>, csr_aligned_kernel<T, true>, block_threads};
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_csr_aligned_cuda(const AlignedRows<T>& lists, const CsrMatrix<T>& matrix,
                                                   Vector<T> diagonal) {
  return std::make_unique<CudaCsrAligned<T>>(lists, matrix, std::move(diagonal));
}

template std::unique_ptr<Operator<double>> make_csr_aligned_cuda(const AlignedRows<double>&, const CsrMatrix<double>&,
                                                                 Vector<double>);
template std::unique_ptr<Operator<float>> make_csr_aligned_cuda(const AlignedRows<float>&, const CsrMatrix<float>&,
                                                                Vector<float>);

}  // namespace femcg::operators
