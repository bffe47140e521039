#pragma once

// Products of small matrices with rows of X, and what follows them: a warp has eight rows of Y, as sums of left factors
// of eight rows times right ones of four rows of X (small_matrices.cuh).

#include <algorithm>

#include "operators/backend/launch.cuh"

namespace femcg::operators::cuda {

constexpr int factor_rows = 8, factor_slots = 4;  ///< of a left factor

/// How a row of X or Y, of `stride` numbers, is shared. Lane l reads numbers of X for column l / 4 of each right
/// factor, and has columns 2 (l % 4) and the next of each sum. Two factors take turns in the columns of X, so that a
/// lane reads two neighbouring numbers at once and has four of a row of Y. Fewer than eight columns leave some of the
/// only factor's zero.
template <int stride_>
struct FactorFragment {
  static constexpr int stride = stride_;
  static constexpr int factors = (stride + 7) / 8, width = factors < 2 ? factors : 2, packs = factors / width;
  static constexpr int numbers = 2 * factors;  ///< of a row of Y that a lane has

  /// A lane's sums of eight rows of Y: those of row lane / 4.
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
  /// Numbers of a row of X for each factor, for the column of them that is the lane's.
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
  /// Number n of a lane: the factor in whose sum it is, whether it is that sum's first or second, its column of Y.
  static constexpr int factor(int n) { return n / (2 * width) * width + n % width; }
  static constexpr int half(int n) { return n % (2 * width) / width; }
  __device__ static constexpr int column(int lane, int n) {
    return (n / (2 * width) * 8 + 2 * (lane % factor_slots)) * width + n % (2 * width);
  }
  /// True if Y has the lane's columns.
  __device__ static constexpr bool has_columns(int lane) { return column(lane, 0) < stride; }

  /// Writes a lane's numbers of a row of Y.
  template <class T>
  __device__ static void store(const Sums& sums, T* row, int lane) {
    if (!has_columns(lane)) return;
#pragma unroll
    for (int n = 0; n < numbers; n += 2)
      *reinterpret_cast<Pair<T>*>(row + column(lane, n)) = {static_cast<T>(sums.of[factor(n)][half(n)]),
                                                            static_cast<T>(sums.of[factor(n + 1)][half(n + 1)])};
  }
  /// Adds a row's products of X and Y, column by column of the lane.
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
