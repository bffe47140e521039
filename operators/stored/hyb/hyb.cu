// The hybrid format on the GPU, in one kernel and without atomics, one warp per slice of 32 rows: first one thread a
// row goes through the padded part, with contiguous loads of entry k of 32 neighbouring rows, as far as each row goes,
// four entries and the next four in flight; then 8 threads a row, four rows together, go through the rows of the slice
// with a rest, and pass their sums to the threads of these rows. y is written once, and all sums are in a fixed order.
//
// Moves sizeof(T) + 4 bytes per nonzero, 2 sizeof(T) + 4 + 1/8 an unknown, and 12 a row with a rest. Padding is stored
// but not read (as in ELLPACK-R, unlike Bell & Garland's kernel).
//
// Bell & Garland 2009, "Implementing sparse matrix-vector multiplication on throughput-oriented processors".

#include "operators/stored/common/slots.cuh"
#include "operators/stored/common/stored_operator.cuh"
#include "operators/stored/hyb/hyb.hpp"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256, resident_blocks = 4;  ///< per multiprocessor: at most 64 registers per thread
constexpr int rest_threads = 8;                          ///< per row with a rest

/// Hyb as plain pointers.
template <class T>
struct Parted {
  std::int64_t rows;
  const std::int32_t* lengths;  ///< of rows in the padded part
  cuda::Slots<T> padded;        ///< rows, in whole slices
  const std::int32_t* rest_of_slice;
  const std::int32_t* rest_rows;
  const std::int64_t* rest_offsets;
  const std::int32_t* rest_columns;
  const T* rest_values;
};

/// Sum of the rest of this thread's row. Called by all lanes of the slice's warp.
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

template <std::floating_point T>
struct HybOnGpu {
  using Matrix = Parted<T>;
  using Format = Hyb<T>;
  static_assert(Format::slice_rows == cuda::threads_per_warp);
  static Matrix pointers(const Format& a) {
    return {a.rows,
            a.lengths.data(),
            {a.stride, a.columns.data(), a.values.data()},
            a.rest_of_slice.data(),
            a.rest_rows.data(),
            a.rest_offsets.data(),
            a.rest_columns.data(),
            a.rest_values.data()};
  }
  static cuda::Product<T, Matrix> product(const Format&) {
    return {hyb_kernel<T, false>, hyb_kernel<T, true>, block_threads};
  }
  static constexpr auto neighbours = cuda::Neighbours::of_column;
  static std::int64_t threads(const Format& a) { return a.stride; }
};

}  // namespace

Makers hyb_on_gpu() { return cuda::stored_makers<Hyb, HybOnGpu>(); }

}  // namespace femcg::operators
