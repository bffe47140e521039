#pragma once

// csr-grouped with several vectors, Y = A X. Neighbouring lanes share a row of X and Y, 16 bytes each, and have a row
// of A together: a warp takes a part of a slice, as many rows as it has room for. Lanes whose rows share a list read
// the same rows of X at the same time, which pass through the L1 cache once.
//
// Moves what a product with one vector does of the matrix, and 2 k sizeof(T) a row for k columns.

#include "operators/backend/cuda/column_sums.cuh"
#include "operators/backend/cuda/product.cuh"
#include "operators/csr_grouped/dense_blocks.cuh"
#include "operators/csr_grouped/grouped_rows.cuh"

namespace femcg::operators::cuda {

constexpr int columns_threads = 256;

/// Adds a row's share of x_c'A x_c, which the lanes of the row have.
template <class Share, class T>
__device__ void add_energies(const T* x, const typename Share::Part& sum, int of_row,
                             double (&energy)[1][Share::packs][Share::width]) {
  const typename Share::Part of_x = Share::load(x, of_row);
#pragma unroll
  for (int p = 0; p < Share::packs; ++p)
#pragma unroll
    for (int j = 0; j < Share::width; ++j) energy[0][p][j] += energy_of_row(of_x.of[p][j], sum.of[p][j]);
}

/// A row of Y, of which a lane has a part; `lane` is the row's in its slice.
template <int at_once, class Share, class T, class Rows>
__device__ typename Share::Part sum_row_of_columns(const Rows& a, const GroupedSlice& slice, int lane, int of_row,
                                                   const T* x) {
  using Value = typename Rows::Value;
  const Value* values = a.values + slice.first_slot * rows_per_slice + lane;
  RunsOfList<at_once, Rows> runs(a, slice, list_of_lane(slice, lane));
  typename Share::Part sum{};
  while (runs.left() > 0) {
    const std::int32_t left = runs.left();
    Value value[at_once];
    typename Share::Part of_x[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) value[i] = i < left ? __ldcs(values + i * rows_per_slice) : Value(0);
    runs.take_columns([&](int i, std::int32_t column) {
      if (i < left) of_x[i] = Share::load(x + std::int64_t{column} * Share::stride, of_row);
    });
    runs.load_starts();
#pragma unroll
    for (int i = 0; i < at_once; ++i)
#pragma unroll
      for (int p = 0; p < Share::packs; ++p)
#pragma unroll
        for (int j = 0; j < Share::width; ++j)
          if (i < left) sum.of[p][j] += static_cast<T>(value[i]) * of_x[i].of[p][j];
    values += at_once * rows_per_slice;
  }
  return sum;
}

template <class T, int stride, class Rows>
__global__ void __launch_bounds__(columns_threads)
    grouped_columns_kernel(Rows a, const T* x, T* y, double* energies, ColumnParts column_parts) {
  using Share = RowShare<T, stride>;
  constexpr int at_once = 4;
  constexpr std::int64_t parts = Share::lanes;  // of a slice
  const int lane = static_cast<int>(threadIdx.x) % threads_per_warp, of_row = lane % Share::lanes;
  const std::int64_t warps = std::int64_t{gridDim.x} * (columns_threads / threads_per_warp);
  double energy[1][Share::packs][Share::width] = {};
  for (std::int64_t part = (std::int64_t{blockIdx.x} * columns_threads + threadIdx.x) / threads_per_warp;
       part < parts * a.slice_count(); part += warps) {
    const std::int64_t number = part / parts;
    const int of_slice = (static_cast<int>(part % parts) * threads_per_warp + lane) / Share::lanes;
    const std::int64_t position = number * rows_per_slice + of_slice;
    if (position >= a.rows) continue;
    const typename Share::Part sum = sum_row_of_columns<at_once, Share>(a, a.slices[number], of_slice, of_row, x);
    const std::int64_t row = a.row_at(position);
    Share::store(sum, y + row * stride, of_row);
    if (energies != nullptr) add_energies<Share>(x + row * stride, sum, of_row, energy);
  }
  if (energies == nullptr) return;
  sum_columns_of_grid<Share>(energy, column_parts, [&](int, int column, double sum) { energies[column] = sum; });
}

/// Tiles of eight rows that a warp takes together: two where registers allow it.
template <int stride>
constexpr int tiles_of_warp = stride <= 16 ? 2 : 1;

/// A warp takes the same part of one slice after the other.
template <int stride, class Rows>
__global__ void __launch_bounds__(columns_threads, 2)
    dense_columns_kernel(Rows a, const double* x, double* y, double* energies, ColumnParts column_parts) {
  using Share = DenseShare<stride>;
  constexpr int tiles = tiles_of_warp<stride>;
  constexpr std::int64_t parts = rows_per_slice / (tiles * tile_rows);  // of a slice
  const int lane = static_cast<int>(threadIdx.x) % threads_per_warp;
  const int warp = static_cast<int>(threadIdx.x) / threads_per_warp;
  const std::int64_t warps = std::int64_t{gridDim.x} * (columns_threads / threads_per_warp);
  double energy[Share::numbers] = {};
  for (std::int64_t part = std::int64_t{blockIdx.x} * (columns_threads / threads_per_warp) + warp;
       part < parts * a.slice_count(); part += warps) {
    const std::int64_t number = part / parts;
    const int first_row = static_cast<int>(part % parts) * tiles * tile_rows;
    DenseSums<tiles, stride> sums{};
    add_tiles<tiles, stride>(a, a.slices[number], first_row, x, sums);
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
      const std::int64_t position = number * rows_per_slice + first_row + t * tile_rows + lane / tile_slots;
      if (position < a.rows) {
        const std::int64_t row = a.row_at(position) * std::int64_t{stride};
#pragma unroll
        for (int n = 0; n < Share::numbers; n += 2) {
          const double2 sum{sums.of[t][Share::factor(n)][Share::half(n)],
                            sums.of[t][Share::factor(n + 1)][Share::half(n + 1)]};
          const std::int64_t at = row + Share::column(lane, n);
          *reinterpret_cast<double2*>(y + at) = sum;
          if (energies == nullptr) continue;
          const double2 of_x = *reinterpret_cast<const double2*>(x + at);
          energy[n] += of_x.x * sum.x;
          energy[n + 1] += of_x.y * sum.y;
        }
      }
    }
  }
  if (energies == nullptr) return;
  __shared__ double of_warps[columns_threads / threads_per_warp * stride];
#pragma unroll
  for (int n = 0; n < Share::numbers; ++n) {
    double sum = energy[n];
#pragma unroll
    for (int distance = threads_per_warp / 2; distance >= tile_slots; distance /= 2)
      sum += __shfl_xor_sync(all_lanes, sum, distance);
    if (lane < tile_slots) of_warps[warp * stride + Share::column(lane, n)] = sum;
  }
  sum_warps_of_grid(of_warps, stride, column_parts, [&](int column, double sum) { energies[column] = sum; });
}

/// Whether rows are multiplied as dense matrices: where so many share a list that few of the eight of a tile are zero,
/// and a row of X is so long that what is saved of its loads pays.
template <class T, int stride>
bool pays_dense(double rows_per_list) {
  if constexpr (std::is_same_v<T, float> || stride < 8)
    return false;
  else
    return rows_per_list >= (stride == 8 ? 2.0 : 1.5);
}

/// The launches of Y = A X for one matrix. What it needs is made with the first product of each stride, which must not
/// be a recorded one.
class GroupedColumnsProduct {
 public:
  template <class T, class Rows>
  void multiply(const Rows& a, double rows_per_list, const Columns<T>& x, Columns<T>& y, double* energies) const {
    with_stride(x.stride(), [&]<int stride>() {
      if constexpr (std::is_same_v<T, double> && stride >= 8)
        if (pays_dense<T, stride>(rows_per_list)) {
          constexpr int parts = rows_per_slice / (tiles_of_warp<stride> * tile_rows);
          return launch_warps(dense_columns_kernel<stride, Rows>, parts * a.slice_count(), a, x, y, energies);
        }
      launch_warps(grouped_columns_kernel<T, stride, Rows>, RowShare<T, stride>::lanes * a.slice_count(), a, x, y,
                   energies);
    });
  }

 private:
  /// A warp for each of so many pieces of work, as far as the GPU holds them at once.
  template <class T, class Rows>
  void launch_warps(void (*kernel)(Rows, const T*, T*, double*, ColumnParts), std::int64_t pieces, const Rows& a,
                    const Columns<T>& x, Columns<T>& y, double* energies) const {
    constexpr std::int64_t warps = columns_threads / threads_per_warp;
    if (x.stride() != prepared_) {
      resident_ = resident_blocks(kernel, columns_threads);
      parts_ = ColumnPartsStorage(resident_, x.stride());
      prepared_ = x.stride();
    }
    const std::int64_t blocks = std::clamp<std::int64_t>((pieces + warps - 1) / warps, 1, resident_);
    launch(kernel, blocks, columns_threads, 0, a, x.data(), y.data(), energies, parts_.parts());
  }

  mutable ColumnPartsStorage parts_;
  mutable std::int64_t resident_ = 0;
  mutable int prepared_ = 0;
};

}  // namespace femcg::operators::cuda
