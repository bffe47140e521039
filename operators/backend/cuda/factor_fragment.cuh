#pragma once

// Products of small matrices with rows of X, and their use: a warp computes eight rows of Y, as sums of left factors of
// eight rows times right factors of four rows of X (small_matrices.cuh).

#include <algorithm>

#include "operators/backend/launch.cuh"

namespace femcg::operators::cuda {

constexpr int factor_rows = 8, factor_slots = 4;  ///< rows and columns of a left factor

/// Distribution of a row of X or Y, of `stride` values, over the lanes of a warp. Lane l loads column l / 4 of each
/// right factor, and holds columns 2 (l % 4) and 2 (l % 4) + 1 of each sum. Two factors alternate in the columns of X,
/// so that a lane loads two adjacent values in one access and holds four adjacent values of a row of Y. With fewer than
/// eight columns the rest of the only factor is zero.
template <int stride_>
struct FactorFragment {
  static constexpr int stride = stride_;
  static constexpr int factors = (stride + 7) / 8, width = factors < 2 ? factors : 2, packs = factors / width;
  static constexpr int numbers = 2 * factors;  ///< values of a row of Y that a lane holds

  /// A lane's sums: its columns of row lane / 4 of the eight rows of Y.
  struct Sums {
    double of[factors][2];
  };
  template <class T>
  struct alignas(width * sizeof(T)) Pack {
    T of[width];
  };
  template <class T>
  struct alignas(2 * sizeof(T)) Pair {
    T of[2];
  };
  /// Loads this lane's column of each factor from a row of X.
  template <class T>
  __device__ static void load(const T* row, int column, double (&to)[factors]) {
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      Pack<T> pack{};
      if (stride >= 8 || column < stride) pack = *reinterpret_cast<const Pack<T>*>(row + (8 * p + column) * width);
#pragma unroll
      for (int j = 0; j < width; ++j) to[p * width + j] = static_cast<double>(pack.of[j]);
    }
  }
  /// For value n of a lane: its factor, its index (0 or 1) within that factor's sum, and its column of Y.
  static constexpr int factor(int n) { return n / (2 * width) * width + n % width; }
  static constexpr int half(int n) { return n % (2 * width) / width; }
  __device__ static constexpr int column(int lane, int n) {
    return (n / (2 * width) * 8 + 2 * (lane % factor_slots)) * width + n % (2 * width);
  }
  /// True if the lane's columns exist in Y.
  __device__ static constexpr bool has_columns(int lane) { return column(lane, 0) < stride; }

  /// Writes a lane's values of a row of Y.
  template <class T>
  __device__ static void store(const Sums& sums, T* row, int lane) {
    if (!has_columns(lane)) return;
#pragma unroll
    for (int n = 0; n < numbers; n += 2)
      *reinterpret_cast<Pair<T>*>(row + column(lane, n)) = {static_cast<T>(sums.of[factor(n)][half(n)]),
                                                            static_cast<T>(sums.of[factor(n + 1)][half(n + 1)])};
  }
  /// Adds x_c y_c of a row for each column c of the lane.
  template <class T>
  __device__ static void add_products(const T* x_row, const Sums& sums, int lane, double (&products)[numbers]) {
    if (!has_columns(lane)) return;
#pragma unroll
    for (int n = 0; n < numbers; n += 2) {
      const auto of_x = *reinterpret_cast<const Pair<T>*>(x_row + column(lane, n));
#pragma unroll
      for (int j = 0; j < 2; ++j)
        products[n + j] +=
            static_cast<double>(of_x.of[j]) * static_cast<double>(static_cast<T>(sums.of[factor(n + j)][half(n + j)]));
    }
  }
};

}  // namespace femcg::operators::cuda
