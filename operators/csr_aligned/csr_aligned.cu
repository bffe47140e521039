// Aligned compressed rows on the GPU: 16 threads take four neighbouring rows together, 16 entries of each at once: each
// thread has four independent chains of column, value and entry of x in flight, however short the rows are. Rows begin
// at multiples of 16 entries, so that every such read is of whole sectors. The four sums of 16 threads are added up in
// one exchange, after which four of them have one row's each.
//
// Moves sizeof(T) + 4 bytes a nonzero and 2 sizeof(T) + 8 an unknown; the last sector of a row brings padding with it.
//
// Baskaran & Bordawekar 2009, "Optimizing sparse matrix-vector multiplication on GPUs": a half-warp a row, aligned
// access by padding, x through the read-only cache.

#include "operators/csr_aligned/csr_aligned_matrix.hpp"
#include "operators/cuda_conversion.cuh"
#include "operators/cuda_product.cuh"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256, resident_blocks = 4;  ///< a multiprocessor: at most 64 registers a thread
constexpr int row_threads = 16, rows_together = 4;
constexpr int threads_a_sum = row_threads / rows_together;

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

/// Entry k of each of four rows, zero behind a row's end.
template <class T>
struct Entries {
  std::int32_t columns[rows_together];
  T values[rows_together];

  __device__ void load(const Aligned<T>& a, const std::int64_t (&start)[rows_together],
                       const std::int32_t (&length)[rows_together], std::int32_t k) {
#pragma unroll
    for (int j = 0; j < rows_together; ++j) {
      const bool exists = k < length[j];
      columns[j] = exists ? cuda::load_once(a.columns + start[j] + k) : 0;
      values[j] = exists ? cuda::load_once(a.values + start[j] + k) : T{0};
    }
  }
};

/// The product of row first + lane / 4 with x; lane < 16. The next entries are under way while x is read for these.
template <class T>
__device__ T rows_times_vector(const Aligned<T>& a, const T* __restrict__ x, std::int64_t first, int lane) {
  std::int64_t start[rows_together];
  std::int32_t length[rows_together], longest = 0;
#pragma unroll
  for (int j = 0; j < rows_together; ++j) {
    const bool exists = first + j < a.rows;
    start[j] = exists ? std::int64_t{__ldg(a.starts + first + j)} * row_threads : 0;
    length[j] = exists ? __ldg(a.lengths + first + j) : 0;
    longest = max(longest, length[j]);
  }
  T sums[rows_together] = {};
  Entries<T> now = {};
  if (longest > 0) now.load(a, start, length, lane);
#pragma unroll 1
  for (std::int32_t step = 0; step < longest; step += row_threads) {
    Entries<T> next = now;
    if (step + row_threads < longest) next.load(a, start, length, step + row_threads + lane);
#pragma unroll
    for (int j = 0; j < rows_together; ++j)
      if (step + lane < length[j]) sums[j] += now.values[j] * __ldg(x + now.columns[j]);
    now = next;
  }
  return exchange_sums(sums, lane);
}

template <class T, bool with_energy>
__global__ void __launch_bounds__(block_threads, resident_blocks)
    csr_aligned_kernel(Aligned<T> a, const T* x, T* y, double* energy, cuda::Parts<1> parts) {
  constexpr int rows_a_warp = cuda::threads_a_warp / row_threads * rows_together;
  const int lane = static_cast<int>(threadIdx.x) % row_threads;
  const int row_of_warp =
      static_cast<int>(threadIdx.x) % cuda::threads_a_warp / row_threads * rows_together;  // the first of four
  double of_thread = 0;
  const std::int64_t warps = std::int64_t{gridDim.x} * (block_threads / cuda::threads_a_warp);
  const std::int64_t warp = (std::int64_t{blockIdx.x} * block_threads + threadIdx.x) / cuda::threads_a_warp;
  for (std::int64_t base = warp * rows_a_warp; base < a.rows; base += warps * rows_a_warp) {
    const std::int64_t first = base + row_of_warp, row = first + lane / threads_a_sum;
    const T sum = rows_times_vector(a, x, first, lane);
    if (lane % threads_a_sum != 0 || row >= a.rows) continue;
    y[row] = sum;
    if constexpr (with_energy) of_thread += cuda::energy_of_row(__ldg(x + row), sum);
  }
  if constexpr (with_energy) cuda::give_energy(of_thread, energy, parts);
}

/// 16 threads a row move it; its padding is never read.
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
