// Aligned compressed rows on the GPU: 16 threads take four neighbouring rows together, 16 entries of each at a time, so
// that each thread has four independent chains of column, value and entry of x, however short the rows are. Rows begin
// at multiples of 16 entries, so that every load is of whole sectors. The four sums of 16 threads are added up in one
// exchange, after which groups of four threads have one row's sum each.
//
// Only loads of x are exposed: row extents are loaded two groups of rows ahead, columns and values one step ahead.
//
// Moves sizeof(T) + 4 bytes per nonzero and 2 sizeof(T) + 8 an unknown, plus the padding in the last sector of a row.
//
// Baskaran & Bordawekar 2009, "Optimizing sparse matrix-vector multiplication on GPUs": a half-warp per row, aligned
// access by padding, x through the read-only cache.

#include "operators/stored/common/stored_operator.cuh"
#include "operators/stored/csr_aligned/csr_aligned.hpp"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256, resident_blocks = 4;  ///< per multiprocessor: at most 64 registers per thread
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

/// Adds up four sums over 16 threads: the sum of row j is known to the lanes with lane / 4 = j. Halves exchange two
/// sums each, quarters one: five shuffles instead of sixteen.
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

/// Begin of a row, in multiples of the alignment, and its length.
struct RowExtent {
  std::int32_t start, length;
};

/// Extent of row first + lane % 4; empty behind the last row.
template <class T>
__device__ RowExtent extent_of(const Aligned<T>& a, std::int64_t first, int lane) {
  const std::int64_t row = first + lane % rows_together;
  if (row >= a.rows) return {0, 0};
  return {__ldg(a.starts + row), __ldg(a.lengths + row)};
}

/// Extents of four neighbouring rows, known to each of their 16 threads.
struct Rows {
  std::int32_t starts[rows_together], lengths[rows_together];

  /// `mine` from extent_of. Called by all lanes of the warp.
  __device__ explicit Rows(const RowExtent& mine) {
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
struct FourEntries {
  std::int32_t columns[rows_together];  ///< -1 behind a row's end
  T values[rows_together];

  __device__ FourEntries(const Aligned<T>& a, const Rows& rows, std::int32_t k) {
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
  const std::int64_t warp = cuda::thread_number() / cuda::threads_per_warp;
  const std::int64_t stride = warps * rows_per_warp;
  std::int64_t first = warp * rows_per_warp + row_of_warp;
  Rows rows(extent_of(a, first, lane));
  RowExtent next_extent = extent_of(a, first + stride, lane);
  FourEntries<T> entries(a, rows, lane);
  // Until all rows of the warp are behind the last one: Rows and exchange_sums need all its lanes.
  for (; first - row_of_warp < a.rows; first += stride) {
    T sums[rows_together] = {};
#pragma unroll 1
    for (std::int32_t step = row_threads; step < rows.longest(); step += row_threads) {
      const FourEntries<T> next(a, rows, step + lane);
      entries.add_products(x, sums);
      entries = next;
    }
    __syncwarp();  // the following loads are by both halves together
    rows = Rows(next_extent);
    next_extent = extent_of(a, first + 2 * stride, lane);
    const FourEntries<T> next(a, rows, lane);
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

template <std::floating_point T>
struct AlignedOnGpu {
  using Matrix = Aligned<T>;
  using Format = AlignedRows<T>;
  static_assert(Format::alignment == row_threads);
  static Matrix pointers(const Format& a) {
    return {a.rows, a.starts.data(), a.lengths.data(), a.columns.data(), a.values.data()};
  }
  static cuda::Product<T, Matrix> product(const Format&) {
    return {csr_aligned_kernel<T, false>, csr_aligned_kernel<T, true>, block_threads};
  }
  static constexpr auto neighbours = cuda::Neighbours::of_row;
  static std::int64_t threads(const Format& a) {
    return (std::int64_t{a.rows} + rows_together - 1) / rows_together * row_threads;
  }
};

}  // namespace

Makers csr_aligned_on_gpu() { return cuda::stored_makers<AlignedRows, AlignedOnGpu>(); }

}  // namespace femcg::operators
