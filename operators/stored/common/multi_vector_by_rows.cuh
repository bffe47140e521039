#pragma once

// The product of a stored matrix with a multi-vector on the GPU, Y = A X, row by row. The interface of a matrix by rows
// is in multi_vector_by_rows.hpp; if it also has
//
//   std::int64_t runs() const;
//   Run run(std::int64_t) const;     // positions [first, last), and what find(run, position) needs besides
//
// its rows are found run by run.
//
// Adjacent lanes share a row of X and Y, 16 bytes each; a group of lanes has a row of A. Each lane loads a few entries
// of A, passed on by shuffles, so that each is loaded once, and whole rows of X are read. If the entries of a row are
// contiguous, a group is wider than a row of X, and its parts take entries alternately; if those of neighbouring rows
// are, neighbouring groups load them together.
//
// Moves sizeof(T) + 2 or 4 bytes per entry, and 2 k sizeof(T) a row for k columns.

#include <type_traits>

#include "operators/backend/cuda/multi_vector_sums.cuh"
#include "operators/backend/cuda/product.cuh"

namespace femcg::operators::cuda {

/// Rows at consecutive positions.
struct RunOfRows {
  std::int32_t first, last;
};
constexpr std::int32_t rows_of_run = threads_per_warp;

template <class Matrix>
constexpr bool has_runs = requires(const Matrix& a) {
  a.runs();
};

template <class Matrix>
constexpr std::int64_t run_count(const Matrix& a) {
  if constexpr (has_runs<Matrix>)
    return a.runs();
  else
    return (a.rows + rows_of_run - 1) / rows_of_run;
}
template <class Matrix>
__device__ auto run_of(const Matrix& a, std::int64_t number) {
  if constexpr (has_runs<Matrix>) {
    return a.run(number);
  } else {
    const auto first = static_cast<std::int32_t>(number * rows_of_run);
    return RunOfRows{first, min(a.rows, first + rows_of_run)};
  }
}
template <class Matrix, class Run>
__device__ auto find_row(const Matrix& a, const Run& run, std::int32_t position) {
  if constexpr (has_runs<Matrix>)
    return a.find(run, position);
  else
    return a.find(position);
}

/// Entries that are contiguous in memory: those of a row, or entries k of neighbouring rows.
enum class Neighbours { of_row, of_column };

/// Lanes per row of A: those of a row of X, or more if they would load too few contiguous entries.
template <class Layout>
constexpr int group_lanes(Neighbours neighbours, bool long_rows) {
  return neighbours == Neighbours::of_column ? Layout::lanes : std::max(Layout::lanes, long_rows ? 16 : 4);
}

constexpr int columns_threads = 256;

template <class T, int stride, int group, class Matrix>
__global__ void __launch_bounds__(columns_threads)
    columns_kernel(Matrix a, const T* x, T* y, double* energies, ColumnParts parts) {
  using Layout = LaneLayout<T, stride>;
  using Value = typename Matrix::Value;
  // Entries that a lane holds at a time: about four in flight for every row of X that it reads.
  constexpr int held = std::max(1, 4 / Layout::lanes);
  const int lane = static_cast<int>(threadIdx.x) % threads_per_warp;
  const int of_group = lane % group, of_row = of_group % Layout::lanes;  // its indices
  const int first_lane = lane / Layout::lanes * Layout::lanes;           // of the lanes that take the same entries
  const std::int64_t runs = run_count(a), warps = std::int64_t{gridDim.x} * (columns_threads / threads_per_warp);
  double energy[1][Layout::packs][Layout::width] = {};
  for (std::int64_t number = (std::int64_t{blockIdx.x} * columns_threads + threadIdx.x) / threads_per_warp;
       number < runs; number += warps) {
    const auto run = run_of(a, number);
    for (std::int32_t begin = run.first; begin < run.last; begin += threads_per_warp / group) {
      const std::int32_t position = begin + lane / group;
      const bool exists = position < run.last;
      const auto row = find_row(a, run, exists ? position : run.first);
      const std::int32_t count = exists ? row.count : 0;
      typename Layout::Part sum{};
      const auto most = static_cast<std::int32_t>(__reduce_max_sync(all_lanes, static_cast<unsigned>(count)));
      for (std::int32_t k = of_group; k - of_group < most; k += held * group) {
        std::int32_t column[held];
        Value value[held];
#pragma unroll
        for (int e = 0; e < held; ++e) {
          const bool there = k + e * group < count;
          column[e] = there ? a.column(row, k + e * group) : -1;
          value[e] = there ? a.value(row, k + e * group) : Value(0);
        }
#pragma unroll
        for (int e = 0; e < held; ++e)
#pragma unroll
          for (int t = 0; t < Layout::lanes; ++t) {
            const std::int32_t at = __shfl_sync(all_lanes, column[e], first_lane + t);
            const Value factor = __shfl_sync(all_lanes, value[e], first_lane + t);
            if (at < 0) continue;
            const typename Layout::Part of_x = Layout::load(x + std::int64_t{at} * stride, of_row);
#pragma unroll
            for (int p = 0; p < Layout::packs; ++p)
#pragma unroll
              for (int j = 0; j < Layout::width; ++j) sum.of[p][j] += static_cast<T>(factor) * of_x.of[p][j];
          }
      }
#pragma unroll
      for (int distance = Layout::lanes; distance < group; distance *= 2)
#pragma unroll
        for (int p = 0; p < Layout::packs; ++p)
#pragma unroll
          for (int j = 0; j < Layout::width; ++j) sum.of[p][j] += __shfl_xor_sync(all_lanes, sum.of[p][j], distance);
      if (!exists || of_group >= Layout::lanes) continue;
      Layout::store(sum, y + std::int64_t{row.number} * stride, of_row);
      if (energies == nullptr) continue;
      const typename Layout::Part of_x = Layout::load(x + std::int64_t{row.number} * stride, of_row);
#pragma unroll
      for (int p = 0; p < Layout::packs; ++p)
#pragma unroll
        for (int j = 0; j < Layout::width; ++j) energy[0][p][j] += energy_of_row(of_x.of[p][j], sum.of[p][j]);
    }
  }
  if (energies == nullptr) return;
  sum_columns_of_grid<Layout>(energy, parts, [&](int, int column, double sum) { energies[column] = sum; });
}

/// Launches of Y = A X for one matrix. The first product of each stride allocates memory, and so must not be captured
/// in a CUDA graph.
class MultiVectorProduct {
 public:
  /// `mean_length`: of the rows.
  template <Neighbours neighbours, class T, class Matrix>
  void multiply(const Matrix& a, double mean_length, const MultiVector<T>& x, MultiVector<T>& y,
                double* energies) const {
    constexpr double long_row = 48;
    with_stride(x.stride(), [&]<int stride>() {
      using Layout = LaneLayout<T, stride>;
      if (neighbours == Neighbours::of_row && mean_length > long_row)
        launch_with<stride, group_lanes<Layout>(neighbours, true)>(a, x, y, energies);
      else
        launch_with<stride, group_lanes<Layout>(neighbours, false)>(a, x, y, energies);
    });
  }

 private:
  template <int stride, int group, class T, class Matrix>
  void launch_with(const Matrix& a, const MultiVector<T>& x, MultiVector<T>& y, double* energies) const {
    constexpr auto kernel = columns_kernel<T, stride, group, Matrix>;
    static const std::int64_t resident = resident_blocks(kernel, columns_threads);
    constexpr int warps = columns_threads / threads_per_warp;
    const std::int64_t blocks = std::clamp<std::int64_t>((run_count(a) + warps - 1) / warps, 1, resident);
    if (stride != prepared_) {
      parts_ = ColumnPartsStorage(resident, stride);
      prepared_ = stride;
    }
    launch(kernel, blocks, columns_threads, 0, a, x.data(), y.data(), energies, parts_.parts());
  }

  mutable ColumnPartsStorage parts_;
  mutable int prepared_ = 0;
};

}  // namespace femcg::operators::cuda
