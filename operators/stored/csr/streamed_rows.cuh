#pragma once

// Streamed compressed rows on the GPU: one thread block takes a run of rows with at most `tile` nonzeros. Its threads
// load values and columns in memory order, a few entries at a time regardless of rows, multiply by x, and write the
// products to shared memory; after a barrier small groups of threads add up the rows (Greathouse & Daga 2014). Loads of
// the matrix do not depend on row offsets. Columns are 16-bit offsets from the tile's least column if these fit, and
// row ends are 16-bit offsets in the tile. Moves sizeof(Value) + 2 or 4 bytes per nonzero, 2 sizeof(T) + 2 a row.
//
// Sums are in a fixed order: two runs give the same bits.
//
// The bottleneck is the data path of the L1 cache, which the streams, the gathers of x and the products in shared
// memory all use, and the number of warps that hide latency. Hence blocks so small, and so few registers, that a
// multiprocessor holds as many threads as it can, no more shared memory than leaves a cache for x, and no test whether
// an entry belongs to the tile. On an H200 tiles of twice the size cost 5 to 10%, more runs in flight in double
// precision 20%; prefetching the next tile before the sums of this one, or bulk copies of several tiles into shared
// memory, did not pay. Nor does a warp per row in tiles of few rows: hexahedra of degree 4 in double precision, 345
// iterations a second instead of 349.

#include <type_traits>

#include "operators/backend/cuda/product.cuh"
#include "operators/stored/csr/csr_launch.hpp"

namespace femcg::operators::streamed {

constexpr int stream_threads = 128;
/// Blocks per multiprocessor: all that it can hold, or as many as there are registers for.
template <class T>
constexpr int stream_blocks = sizeof(T) == 8 ? 16 : 12;

/// Runs of entries that a thread has in flight.
template <class T>
constexpr int runs_together = sizeof(T) == 8 ? 1 : 4;

template <class Value>
struct Rows {
  const Value* values;
  const std::uint16_t* ends;  ///< of each row, counted from the run with the tile's first entry
};

template <class Value, int N>
struct alignas(sizeof(Value) * N <= 16 ? sizeof(Value) * N : 16) Run {
  Value entry[N];
};

/// Loads N contiguous entries with an evict-first hint.
template <int N, class Value>
__device__ Run<Value, N> load_run(const Value* from) {
  using Part = std::conditional_t<sizeof(Run<Value, N>) == 4, unsigned,
                                  std::conditional_t<sizeof(Run<Value, N>) == 8, uint2, uint4>>;
  static_assert(sizeof(Run<Value, N>) % sizeof(Part) == 0);
  Run<Value, N> run;
#pragma unroll
  for (std::size_t i = 0; i < sizeof(run) / sizeof(Part); ++i)
    reinterpret_cast<Part*>(&run)[i] = __ldcs(reinterpret_cast<const Part*>(from) + i);
  return run;
}

template <class T, class Value, int N>
__device__ Run<T, N> widened(const Run<Value, N>& run) {
  Run<T, N> wide;
#pragma unroll
  for (int i = 0; i < N; ++i) wide.entry[i] = static_cast<T>(run.entry[i]);
  return wide;
}

/// Index of product k of a tile in shared memory. Finite element matrices have few distinct row lengths, so that the
/// begins of rows, and the threads that add them up, may have bank conflicts; gaps between products avoid these.
template <class T>
constexpr int products_between_gaps = sizeof(T) == 8 ? 16 : 64;
constexpr int gap = 2;
template <class T, bool gaps>
__host__ __device__ constexpr unsigned place(unsigned k) {
  return gaps ? k + k / products_between_gaps<T> * gap : k;
}
template <class T>
constexpr int shared_places = place<T, true>(tile<T> + run_length<T>);

/// Writes products to shared memory: that of entry k, counted from the run with the tile's first entry, at its index.
/// Products of other tiles' entries in the first and last run are unused; their columns are valid columns of x (see
/// `narrow`, `padded`).
template <bool gaps, class T, class Value, class Column>
__device__ void multiply_tile(const Value* values, const Column* columns, const T* x, int count, T* products) {
  constexpr int length = run_length<T>, together = runs_together<T>, step = stream_threads * length;
#pragma unroll 1
  for (int k = static_cast<int>(threadIdx.x) * length; k < count; k += together * step) {
    Run<Column, length> column[together];
    Run<T, length> product[together];
#pragma unroll
    for (int j = 0; j < together; ++j)
      if (k + j * step < count) {
        column[j] = load_run<length>(columns + k + j * step);
        product[j] = widened<T>(load_run<length>(values + k + j * step));
      }
#pragma unroll
    for (int j = 0; j < together; ++j)
#pragma unroll
      for (int i = 0; i < length; ++i)
        if (together == 1 || k + j * step < count) product[j].entry[i] *= __ldg(x + column[j].entry[i]);
#pragma unroll
    for (int j = 0; j < together; ++j)
      if (k + j * step < count)
        *reinterpret_cast<Run<T, length>*>(products + place<T, gaps>(k + j * step)) = product[j];
  }
}

/// Sum of a row that is longer than a tile, known to thread 0. `of_warp` as in sum_of_block.
template <class T, class Value, class Column>
__device__ T sum_long_row(const Value* values, const Column* columns, const T* x, std::int64_t begin, std::int64_t end,
                          double* of_warp) {
  double sum = 0;
  for (std::int64_t k = begin + threadIdx.x; k < end; k += stream_threads)
    sum += static_cast<double>(static_cast<T>(values[k]) * __ldg(x + columns[k]));
  return static_cast<T>(cuda::sum_of_block(sum, of_warp));
}

/// A tile, and its numbers of rows and entries.
struct TileExtent {
  Tile tile;
  std::int32_t rows, entries;
};
__device__ inline TileExtent load_tile(const Tile* of_tile, std::int64_t t) {
  const Tile tile = of_tile[t];
  return {tile, of_tile[t + 1].first_row - tile.first_row,
          static_cast<std::int32_t>(of_tile[t + 1].first_entry - tile.first_entry)};
}

/// Threads per row, the same for all rows of a tile: as many as there are, up to a warp.
__host__ __device__ inline int threads_per_row(int rows) {
  int group = 1;
  while (group < cuda::threads_per_warp && 2 * group * rows <= stream_threads) group *= 2;
  return group;
}

/// Range of the products of a row of a tile. `before` is the index of the tile's first product.
struct RowRange {
  unsigned begin, end;
};
__device__ inline RowRange load_row(const std::uint16_t* ends_of_tile, int row, int before) {
  return {static_cast<unsigned>(row > 0 ? ends_of_tile[row - 1] : before), ends_of_tile[row]};
}

/// Computes y on the rows of a tile from the products, `group` threads per row; returns this thread's contribution to
/// x'y. `range` is that of the thread's first row.
template <int group, bool gaps, class T>
__device__ double add_up_rows(const T* products, RowRange range, const std::uint16_t* ends, int before, int rows,
                              const T* x, T* y) {
  constexpr int rows_at_once = stream_threads / group;
  const unsigned lane = threadIdx.x % group;
  int row = static_cast<int>(threadIdx.x) / group;
  double energy = 0;
  for (int base = 0; base < rows; base += rows_at_once, row += rows_at_once) {
    if (base > 0 && row < rows) range = load_row(ends, row, before);
    T sum = 0;
    if (row < rows)
      for (unsigned k = range.begin + lane; k < range.end; k += group) sum += products[place<T, gaps>(k)];
    sum = cuda::sum_of_lanes<group>(sum);
    if (row < rows && lane == 0) {
      y[row] = sum;
      energy += cuda::energy_of_row(__ldg(x + row), sum);
    }
  }
  return energy;
}

/// Computes y on the rows of a tile; returns this thread's contribution to x'y.
template <bool gaps, class T, class Value, class Column>
__device__ double multiply_tile_rows(const Rows<Value>& a, const Column* columns, const TileExtent& of, const T* x,
                                     T* y, T* products) {
  const std::int64_t aligned = run_begin<T>(of.tile.first_entry);
  const int before = static_cast<int>(of.tile.first_entry - aligned), group = threads_per_row(of.rows);
  const std::uint16_t* ends = a.ends + of.tile.first_row;
  RowRange range{0, 0};  // loaded before the barrier, used after it
  if (const int row = static_cast<int>(threadIdx.x) / group; row < of.rows) range = load_row(ends, row, before);
  multiply_tile<gaps>(a.values + aligned, columns + aligned, x + of.tile.base, before + of.entries, products);
  __syncthreads();
  const T* x_of_tile = x + of.tile.first_row;
  T* y_of_tile = y + of.tile.first_row;
  switch (group) {
    case 1:
      return add_up_rows<1, gaps>(products, range, ends, before, of.rows, x_of_tile, y_of_tile);
    case 2:
      return add_up_rows<2, gaps>(products, range, ends, before, of.rows, x_of_tile, y_of_tile);
    case 4:
      return add_up_rows<4, gaps>(products, range, ends, before, of.rows, x_of_tile, y_of_tile);
    case 8:
      return add_up_rows<8, gaps>(products, range, ends, before, of.rows, x_of_tile, y_of_tile);
    case 16:
      return add_up_rows<16, gaps>(products, range, ends, before, of.rows, x_of_tile, y_of_tile);
    default:
      return add_up_rows<32, gaps>(products, range, ends, before, of.rows, x_of_tile, y_of_tile);
  }
}

template <class T, class Value, class Column, bool gaps, bool with_energy>
__global__ void __launch_bounds__(stream_threads, stream_blocks<T>)
    streamed_kernel(Rows<Value> a, const Column* columns, std::int64_t tiles, const Tile* of_tile, const T* x, T* y,
                    double* energy, cuda::Parts<1> parts) {
  __shared__ alignas(16) T products[shared_places<T>];
  // More shared memory would reduce the L1 cache by one step.
  double* of_warp = reinterpret_cast<double*>(products);
  double sums[1] = {0};
  for (std::int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const TileExtent of = load_tile(of_tile, t);
    if (of.entries > tile<T>) {
      const std::int64_t begin = of.tile.first_entry;
      const T sum = sum_long_row(a.values, columns, x + of.tile.base, begin, begin + of.entries, of_warp);
      if (threadIdx.x == 0) {
        y[of.tile.first_row] = sum;
        sums[0] += cuda::energy_of_row(x[of.tile.first_row], sum);
      }
    } else {
      sums[0] += multiply_tile_rows<gaps>(a, columns, of, x, y, products);
      __syncthreads();  // the next tile's products overwrite these
    }
  }
  if constexpr (with_energy)
    cuda::sum_of_grid(
        sums, parts, [&](const double(&results)[1]) { *energy = results[0]; }, of_warp);
}

}  // namespace femcg::operators::streamed
