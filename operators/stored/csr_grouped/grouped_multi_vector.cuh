#pragma once

// csr-grouped with multi-vectors, Y = A X. Adjacent lanes share a row of X and Y, 16 bytes each, and have a row of A
// together: a warp takes a part of a slice, as many rows as fit. Lanes whose rows share a list read the same rows of X
// at the same time, which pass through the L1 cache once.
//
// Moves the bytes of the matrix as a product with one vector does, and 2 k sizeof(T) a row for k columns. On an H200,
// 2026-11-23, with 8 columns in double precision this is 46% of the copy bandwidth for quadrilaterals of degree 4 and
// 34% for hexahedra of degree 2, 2.8 and 1.7 times the rate of csr. The caches are the bottleneck: X comes three to six
// times from the L2 cache. Windows of 1152 or 288 rows, with the rows of a cell closer together, were 2 to 20% slower,
// and neighbouring parts for the blocks of one multiprocessor 0 to 3% faster; special treatment of slices where every
// row has its own list was 5% slower.

#include "operators/backend/cuda/factor_multi_vector.cuh"
#include "operators/backend/cuda/product.cuh"
#include "operators/stored/common/turning_positions.cuh"
#include "operators/stored/csr_grouped/dense_blocks.cuh"
#include "operators/stored/csr_grouped/grouped_rows.cuh"

namespace femcg::operators::cuda {

/// Calls take(slice, part) for each part of a slice that this warp has, `parts` per slice. Rows of one length are
/// contiguous in a window; the rotation of positions spreads long ones over the warps.
template <int parts, class Rows, class Take>
__device__ void take_parts(const Rows& a, const Take& take) {
  constexpr int warps = columns_threads / threads_per_warp;
  const std::int64_t pieces = parts * a.slice_count(), blocks = (pieces + warps - 1) / warps;
  TurningPositions<columns_threads> positions;
  for (std::int64_t first = 0; first < blocks; first += gridDim.x) {
    const std::int64_t piece = positions.next() / threads_per_warp;
    if (piece < pieces) take(piece / parts, static_cast<int>(piece % parts));
  }
}

/// Adds a row's contribution to x_c'A x_c, which the lanes of the row hold.
template <class Layout, class T>
__device__ void add_energies(const T* x, const typename Layout::Part& sum, int of_row,
                             double (&energy)[1][Layout::packs][Layout::width]) {
  const typename Layout::Part of_x = Layout::load(x, of_row);
#pragma unroll
  for (int p = 0; p < Layout::packs; ++p)
#pragma unroll
    for (int j = 0; j < Layout::width; ++j) energy[0][p][j] += energy_of_row(of_x.of[p][j], sum.of[p][j]);
}

/// This lane's part of a row of Y; `lane` is the row's in its slice.
template <int at_once, class Layout, class T, class Rows>
__device__ typename Layout::Part sum_row_of_multi_vector(const Rows& a, const GroupedSlice& slice, int lane, int of_row,
                                                         const T* x) {
  using Value = typename Rows::Value;
  const Value* values = a.values + slice.first_slot * rows_per_slice + lane;
  RunsOfList<at_once, Rows> runs(a, slice, list_of_lane(slice, lane));
  typename Layout::Part sum{};
  while (runs.left() > 0) {
    const std::int32_t left = runs.left();
    Value value[at_once];
    typename Layout::Part of_x[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) value[i] = i < left ? __ldcs(values + i * rows_per_slice) : Value(0);
    runs.take_columns([&](int i, std::int32_t column) {
      if (i < left) of_x[i] = Layout::load(x + std::int64_t{column} * Layout::stride, of_row);
    });
    runs.load_starts();
#pragma unroll
    for (int i = 0; i < at_once; ++i)
#pragma unroll
      for (int p = 0; p < Layout::packs; ++p)
#pragma unroll
        for (int j = 0; j < Layout::width; ++j)
          if (i < left) sum.of[p][j] += static_cast<T>(value[i]) * of_x[i].of[p][j];
    values += at_once * rows_per_slice;
  }
  return sum;
}

template <class T, int stride, class Rows>
__global__ void __launch_bounds__(columns_threads)
    grouped_columns_kernel(Rows a, const T* x, T* y, double* energies, ColumnParts column_parts) {
  using Layout = LaneLayout<T, stride>;
  constexpr int at_once = 4;
  const int lane = static_cast<int>(threadIdx.x) % threads_per_warp, of_row = lane % Layout::lanes;
  double energy[1][Layout::packs][Layout::width] = {};
  take_parts<Layout::lanes>(a, [&](std::int64_t number, int part) {
    const int of_slice = (part * threads_per_warp + lane) / Layout::lanes;
    const std::int64_t position = number * rows_per_slice + of_slice;
    if (position >= a.rows) return;
    const typename Layout::Part sum =
        sum_row_of_multi_vector<at_once, Layout>(a, a.slices[number], of_slice, of_row, x);
    const std::int64_t row = a.row_at(position);
    Layout::store(sum, y + row * stride, of_row);
    if (energies != nullptr) add_energies<Layout>(x + row * stride, sum, of_row, energy);
  });
  if (energies == nullptr) return;
  sum_columns_of_grid<Layout>(energy, column_parts, [&](int, int column, double sum) { energies[column] = sum; });
}

/// One warp per tile of eight rows.
template <int stride, class Rows>
__global__ void __launch_bounds__(columns_threads, stride == 8 ? 3 : 2)
    dense_columns_kernel(Rows a, const double* x, double* y, double* energies, ColumnParts column_parts) {
  using Layout = FactorFragment<stride>;
  const int lane = static_cast<int>(threadIdx.x) % threads_per_warp;
  double products[Layout::numbers] = {};
  take_parts<rows_per_slice / tile_rows>(a, [&](std::int64_t number, int part) {
    typename Layout::Sums sums{};
    add_tile<stride>(a, a.slices[number], part * tile_rows, x, sums);
    const std::int64_t position = number * rows_per_slice + part * tile_rows + lane / tile_slots;
    if (position >= a.rows) return;
    const std::int64_t row = a.row_at(position) * std::int64_t{stride};
    Layout::store(sums, y + row, lane);
    if (energies != nullptr) Layout::add_products(x + row, sums, lane, products);
  });
  if (energies != nullptr) give_energies<Layout>(products, energies, column_parts);
}

/// True if rows are multiplied as dense matrices: if so many share a list that few of the eight rows of a tile are
/// zero, and rows of X are so long that saving their loads pays.
template <class T, int stride>
bool pays_dense(double rows_per_list) {
  if constexpr (std::is_same_v<T, float> || stride < 8)
    return false;
  else
    return rows_per_list >= 1.5;
}

/// Launches of Y = A X for one matrix, as in WarpsOfMultiVector.
class GroupedMultiVectorProduct {
 public:
  template <class T, class Rows>
  void multiply(const Rows& a, double rows_per_list, const MultiVector<T>& x, MultiVector<T>& y,
                double* energies) const {
    with_stride(x.stride(), [&]<int stride>() {
      if constexpr (std::is_same_v<T, double> && stride >= 8)
        if (pays_dense<T, stride>(rows_per_list)) {
          constexpr int parts = rows_per_slice / tile_rows;
          return warps_.launch_warps(dense_columns_kernel<stride, Rows>, parts * a.slice_count(), a, x, y, energies);
        }
      warps_.launch_warps(grouped_columns_kernel<T, stride, Rows>, LaneLayout<T, stride>::lanes * a.slice_count(), a, x,
                          y, energies);
    });
  }

 private:
  WarpsOfMultiVector warps_;
};

}  // namespace femcg::operators::cuda
