#pragma once

// Launches of Y = A X, and the energies x_c'y_c, for warps with eight rows as small matrices (factor_fragment.cuh).

#include <array>

#include "operators/backend/cuda/factor_fragment.cuh"
#include "operators/backend/cuda/multi_vector_sums.cuh"

namespace femcg::operators::cuda {

constexpr int columns_threads = 256;

/// Sums the threads' products over the grid, column by column, and writes the energies.
template <class Layout>
__device__ void give_energies(const double (&products)[Layout::numbers], double* energies, ColumnParts parts) {
  __shared__ double of_warps[columns_threads / threads_per_warp * Layout::stride];
  const int lane = static_cast<int>(threadIdx.x) % threads_per_warp;
  const int warp = static_cast<int>(threadIdx.x) / threads_per_warp;
#pragma unroll
  for (int n = 0; n < Layout::numbers; ++n) {
    double sum = products[n];
#pragma unroll
    for (int distance = threads_per_warp / 2; distance >= factor_slots; distance /= 2)
      sum += __shfl_xor_sync(all_lanes, sum, distance);
    if (lane < factor_slots && Layout::has_columns(lane))
      of_warps[warp * Layout::stride + Layout::column(lane, n)] = sum;
  }
  sum_warps_of_grid(of_warps, Layout::stride, parts, [&](int column, double sum) { energies[column] = sum; });
}

/// Launches for one matrix. The first launch of each stride allocates memory, and so must not be captured in a CUDA
/// graph.
class WarpsOfMultiVector {
 public:
  /// Launches one warp per piece of work, up to the number that the GPU holds concurrently. All launches of one stride
  /// with energies use one kernel, all without energies another.
  template <class T, class Rows>
  void launch_warps(void (*kernel)(Rows, const T*, T*, double*, ColumnParts), std::int64_t pieces, const Rows& a,
                    const MultiVector<T>& x, MultiVector<T>& y, double* energies) const {
    constexpr std::int64_t warps = columns_threads / threads_per_warp;
    Prepared& of = prepared_[energies != nullptr ? 1 : 0];
    if (x.stride() != of.stride) {
      of.persistent = resident_blocks(kernel, columns_threads);
      of.parts = ColumnPartsStorage(of.persistent, x.stride());
      of.stride = x.stride();
    }
    const std::int64_t blocks = std::clamp<std::int64_t>((pieces + warps - 1) / warps, 1, of.persistent);
    launch(kernel, blocks, columns_threads, 0, a, x.data(), y.data(), energies, of.parts.parts());
  }

 private:
  struct Prepared {
    ColumnPartsStorage parts;
    std::int64_t persistent = 0;
    int stride = 0;
  };
  mutable std::array<Prepared, 2> prepared_;
};

}  // namespace femcg::operators::cuda
