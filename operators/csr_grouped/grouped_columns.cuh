#pragma once

// csr-grouped with several vectors, Y = A X. Neighbouring lanes share a row of X and Y, 16 bytes each, and have a row
// of A together: a warp takes a part of a slice, as many rows as it has room for. Lanes whose rows share a list read
// the same rows of X at the same time, which pass through the L1 cache once.
//
// Moves what a product with one vector does of the matrix, and 2 k sizeof(T) a row for k columns.

#include "operators/backend/cuda/column_sums.cuh"
#include "operators/backend/cuda/product.cuh"
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

/// The launches of Y = A X for one matrix. What it needs is made with the first product of each stride, which must not
/// be a recorded one.
class GroupedColumnsProduct {
 public:
  template <class T, class Rows>
  void multiply(const Rows& a, const Columns<T>& x, Columns<T>& y, double* energies) const {
    with_stride(x.stride(), [&]<int stride>() {
      constexpr auto kernel = grouped_columns_kernel<T, stride, Rows>;
      constexpr int parts = RowShare<T, stride>::lanes;
      launch_warps(kernel, stride, parts * a.slice_count(), a, x, y, energies);
    });
  }

 private:
  /// A warp for each of so many pieces of work, as far as the GPU holds them at once.
  template <class Kernel, class T, class Rows>
  void launch_warps(Kernel* kernel, int stride, std::int64_t pieces, const Rows& a, const Columns<T>& x, Columns<T>& y,
                    double* energies) const {
    constexpr std::int64_t warps = columns_threads / threads_per_warp;
    if (stride != prepared_) {
      resident_ = resident_blocks(kernel, columns_threads);
      parts_ = ColumnPartsStorage(resident_, stride);
      prepared_ = stride;
    }
    const std::int64_t blocks = std::clamp<std::int64_t>((pieces + warps - 1) / warps, 1, resident_);
    launch(kernel, blocks, columns_threads, 0, a, x.data(), y.data(), energies, parts_.parts());
  }

  mutable ColumnPartsStorage parts_;
  mutable std::int64_t resident_ = 0;
  mutable int prepared_ = 0;
};

}  // namespace femcg::operators::cuda
