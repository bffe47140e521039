#pragma once

#include <Eigen/Dense>

#include "operators/cellwise/cell_loops/lanes.hpp"

namespace femcg::operators {

/// Sums and differences of mirrored pairs of N values `Stride` apart; the middle one is a sum.
template <int N, int Stride, class Number>
[[gnu::always_inline]] inline void fold(const Number* from, Number* sum, Number* difference) {
  constexpr int pairs = N / 2;
  for (int j = 0; j < pairs; ++j) {
    const Number first = from[j * Stride], last = from[(N - 1 - j) * Stride];
    sum[j] = first + last;
    difference[j] = first - last;
  }
  if constexpr (N % 2 == 1) sum[pairs] = from[pairs * Stride];
}

/// v = A v along a line of N values for a matrix with A(N - 1 - i, N - 1 - j) = Sign A(i, j), as for symmetric nodes
/// and Gauss points: values (Sign 1) and derivatives (-1). Sums and differences of mirrored values take a quarter of A
/// each: N^2 / 2 multiplications (Solomonoff 1992).
template <std::floating_point T, int N, int Sign>
class MirroredLine {
 public:
  explicit MirroredLine(const Eigen::MatrixXd& a) {
    for (int i = 0; i < half; ++i)
      for (int j = 0; j < half; ++j) {
        const bool is_middle = j == N - 1 - j;
        of_sums_[i][j] = static_cast<T>(is_middle ? a(i, j) : (a(i, j) + a(i, N - 1 - j)) / 2);
        of_differences_[i][j] = static_cast<T>(is_middle ? 0 : (a(i, j) - a(i, N - 1 - j)) / 2);
      }
  }

  /// Reads and writes values `Stride` apart; `from` and `to` may be equal.
  template <int Stride>
  [[gnu::always_inline]] void apply(const Lanes<T>* from, Lanes<T>* to) const {
    Lanes<T> sum[half], difference[half];
    fold<N, Stride>(from, sum, difference);
    for (int i = 0; i < pairs; ++i) {
      const Lanes<T> even = even_part(i, sum), odd = odd_part(i, difference);
      to[i * Stride] = even + odd;
      to[(N - 1 - i) * Stride] = Sign > 0 ? even - odd : odd - even;
    }
    if constexpr (half > pairs) to[pairs * Stride] = Sign > 0 ? even_part(pairs, sum) : odd_part(pairs, difference);
  }

 private:
  static constexpr int pairs = N / 2, half = N - pairs;

  [[gnu::always_inline]] Lanes<T> even_part(int i, const Lanes<T>* sum) const {
    Lanes<T> part = of_sums_[i][0] * sum[0];
    for (int j = 1; j < half; ++j) part += of_sums_[i][j] * sum[j];
    return part;
  }
  [[gnu::always_inline]] Lanes<T> odd_part(int i, const Lanes<T>* difference) const {
    Lanes<T> part = of_differences_[i][0] * difference[0];
    for (int j = 1; j < pairs; ++j) part += of_differences_[i][j] * difference[j];
    return part;
  }

  T of_sums_[half][half], of_differences_[half][half];
};

}  // namespace femcg::operators
