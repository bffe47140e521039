#pragma once

// The product of streamed rows (streamed_rows.cuh) with a multi-vector, Y = A X. A thread block copies the values and
// columns of a tile to shared memory in memory order; then adjacent threads share a row of X and Y, 16 bytes each, and
// a group of them adds up a row of the tile: an entry is one load from shared memory, broadcast to the group, and 16
// bytes of X per thread. If a tile has few rows, several groups take the entries of a row alternately.
//
// Moves sizeof(Value) + 2 or 4 bytes per nonzero, and 2 k sizeof(T) + 2 a row for k columns. On an H200 it reaches 54%
// of the copy bandwidth with 8 vectors in two dimensions at degree 1, where X comes from the L2 cache three times, and
// 27% at degree 4, where the rows of a warp have 25 to 81 entries and wait for the longest. One warp per longer row was
// slower, and so were interleaved entries in shared memory, whose stores have bank conflicts.
//
// Sums are in a fixed order: two runs give the same bits.

#include "operators/backend/cuda/multi_vector_sums.cuh"
#include "operators/stored/csr/streamed_rows.cuh"

namespace femcg::operators::streamed {

constexpr int columns_blocks = 8;  ///< per multiprocessor: at most 64 registers per thread

template <class T, class Value, class Column>
struct TileInShared {
  static constexpr int size = tile<T> + 2 * run_length<T>;
  alignas(16) Value values[size];
  alignas(16) Column columns[size];
};

/// Copies `count` entries to shared memory, from the run with the tile's first entry on, with all loads in flight
/// together.
template <class T, class Value, class Column>
__device__ void bring_tile(const Value* values, const Column* columns, int count, TileInShared<T, Value, Column>& to) {
  constexpr int length = run_length<T>, step = stream_threads * length;
  constexpr int steps = (TileInShared<T, Value, Column>::size + step - 1) / step;
  Run<Column, length> column[steps];
  Run<Value, length> value[steps];
#pragma unroll
  for (int s = 0; s < steps; ++s)
    if (const int k = s * step + static_cast<int>(threadIdx.x) * length; k < count) {
      column[s] = load_run<length>(columns + k);
      value[s] = load_run<length>(values + k);
    }
#pragma unroll
  for (int s = 0; s < steps; ++s)
    if (const int k = s * step + static_cast<int>(threadIdx.x) * length; k < count) {
      *reinterpret_cast<Run<Column, length>*>(to.columns + k) = column[s];
      *reinterpret_cast<Run<Value, length>*>(to.values + k) = value[s];
    }
}

/// sum += products of the entries begin, begin + turns, ... < end with rows of X, several in flight together. Loads
/// behind the end repeat the last entry's row, times zero.
template <class Layout, class T, class Value, class Column>
__device__ void add_entries(const Value* values, const Column* columns, const T* x, int begin, int end, int turns,
                            int of_row, typename Layout::Part& sum) {
  constexpr int together = Layout::packs > 1 ? 2 : 4;
#pragma unroll 1
  for (int k = begin; k < end; k += together * turns) {
    typename Layout::Part of_x[together];
    T value[together];
#pragma unroll
    for (int j = 0; j < together; ++j) {
      const int at = min(k + j * turns, end - 1);
      value[j] = k + j * turns < end ? static_cast<T>(values[at]) : T(0);
      of_x[j] = Layout::load(x + std::int64_t{columns[at]} * Layout::stride, of_row);
    }
#pragma unroll
    for (int j = 0; j < together; ++j)
#pragma unroll
      for (int p = 0; p < Layout::packs; ++p)
#pragma unroll
        for (int i = 0; i < Layout::width; ++i) sum.of[p][i] += value[j] * of_x[j].of[p][i];
  }
}

/// Groups of lanes per row: several if there are fewer rows than groups.
template <class Layout>
__device__ int turns_in_row(int rows) {
  constexpr int most = cuda::threads_per_warp / Layout::lanes, shares = stream_threads / Layout::lanes;
  int turns = 1;
  while (turns < most && 2 * turns * rows <= shares) turns *= 2;
  return turns;
}

/// Sums over the groups of lanes of a row, known to all of them.
template <class Layout>
__device__ void add_turns(typename Layout::Part& sum, int turns) {
  for (int distance = Layout::lanes; distance < turns * Layout::lanes; distance *= 2)
#pragma unroll
    for (int p = 0; p < Layout::packs; ++p)
#pragma unroll
      for (int i = 0; i < Layout::width; ++i) sum.of[p][i] += __shfl_xor_sync(cuda::all_lanes, sum.of[p][i], distance);
}

template <class Layout, class T>
__device__ void finish_row(const typename Layout::Part& sum, const T* x_of_row, T* y_of_row, int of_row,
                           double (&energy)[1][Layout::packs][Layout::width]) {
  Layout::store(sum, y_of_row, of_row);
  const typename Layout::Part of_x = Layout::load(x_of_row, of_row);
#pragma unroll
  for (int p = 0; p < Layout::packs; ++p)
#pragma unroll
    for (int i = 0; i < Layout::width; ++i) energy[0][p][i] += cuda::energy_of_row(of_x.of[p][i], sum.of[p][i]);
}

template <class T, int stride, class Value, class Column>
__global__ void __launch_bounds__(stream_threads, columns_blocks)
    streamed_columns_kernel(Rows<Value> a, const Column* columns, std::int64_t tiles, const Tile* of_tile, const T* x,
                            T* y, double* energies, cuda::ColumnParts parts) {
  using Layout = cuda::LaneLayout<T, stride>;
  constexpr int warps = stream_threads / cuda::threads_per_warp, shares = stream_threads / Layout::lanes;
  __shared__ TileInShared<T, Value, Column> in_shared;
  __shared__ typename Layout::Part of_warps[warps][Layout::lanes];
  const int thread = static_cast<int>(threadIdx.x), of_row = thread % Layout::lanes;
  double energy[1][Layout::packs][Layout::width] = {};
  for (std::int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const TileExtent of = load_tile(of_tile, t);
    const T* x_of_base = x + std::int64_t{of.tile.base} * stride;
    typename Layout::Part sum{};
    if (of.entries > tile<T>) {  // a single row, by all threads
      const std::int64_t begin = of.tile.first_entry;
      add_entries<Layout>(a.values + begin, columns + begin, x_of_base, thread / Layout::lanes, of.entries, shares,
                          of_row, sum);
      add_turns<Layout>(sum, cuda::threads_per_warp / Layout::lanes);
      if (thread % cuda::threads_per_warp < Layout::lanes) of_warps[thread / cuda::threads_per_warp][of_row] = sum;
      __syncthreads();
      if (thread < Layout::lanes) {
#pragma unroll
        for (int w = 1; w < warps; ++w)
#pragma unroll
          for (int p = 0; p < Layout::packs; ++p)
#pragma unroll
            for (int i = 0; i < Layout::width; ++i) sum.of[p][i] += of_warps[w][of_row].of[p][i];
        const std::int64_t row = of.tile.first_row;
        finish_row<Layout>(sum, x + row * stride, y + row * stride, of_row, energy);
      }
      __syncthreads();
      continue;
    }
    const std::int64_t aligned = run_begin<T>(of.tile.first_entry);
    const int before = static_cast<int>(of.tile.first_entry - aligned);
    bring_tile<T>(a.values + aligned, columns + aligned, before + of.entries, in_shared);
    __syncthreads();
    const int turns = turns_in_row<Layout>(of.rows);
    const std::uint16_t* ends = a.ends + of.tile.first_row;
    const int rows_at_once = shares / turns;
    for (int base = 0; base < of.rows; base += rows_at_once) {
      const int row = base + thread / (turns * Layout::lanes);
      sum = {};
      if (row < of.rows) {
        const RowRange range = load_row(ends, row, before);
        add_entries<Layout>(in_shared.values, in_shared.columns, x_of_base,
                            static_cast<int>(range.begin) + thread / Layout::lanes % turns, static_cast<int>(range.end),
                            turns, of_row, sum);
      }
      __syncwarp();
      add_turns<Layout>(sum, turns);
      if (row < of.rows && thread / Layout::lanes % turns == 0) {
        const std::int64_t number = std::int64_t{of.tile.first_row} + row;
        finish_row<Layout>(sum, x + number * stride, y + number * stride, of_row, energy);
      }
    }
    __syncthreads();  // the next tile overwrites this one
  }
  if (energies == nullptr) return;
  cuda::sum_columns_of_grid<Layout>(energy, parts, [&](int, int column, double sum) { energies[column] = sum; });
}

}  // namespace femcg::operators::streamed
