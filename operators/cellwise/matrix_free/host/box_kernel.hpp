#pragma once

#include <concepts>
#include <cstdint>

#include "operators/cellwise/cell_loops/lanes.hpp"
#include "operators/cellwise/matrix_free/box_modes.hpp"
#include "operators/cellwise/matrix_free/host/mirrored_line.hpp"

namespace femcg::operators {

/// y_e = sum_a c_a (M x .. x S x .. x M) x_e on rectangles and boxes, with S for axis a: stiffness and mass matrices of
/// the line, integrated as the cells are. With the eigenvectors S V = M V Lambda, V'M V = I and W = V'M this is (W x
/// W)' (sum_a c_a Lambda_a) (W x W) x_e (Lynch, Rice & Thomas 1964). Eigenvectors are even or odd, since the nodes are
/// symmetric, so that W takes half the multiplications: 2 d n^d ceil(n / 2), and d n^d more, per cell. N = n = degree +
/// 1.
template <std::floating_point T, int D, int N>
class BoxKernel {
 public:
  explicit BoxKernel(int quadrature) {
    take_modes(quadrature, 1);
    take_modes(quadrature, -1);
  }

  static constexpr std::int64_t scratch_size() { return D == 2 ? 0 : N * N * N; }
  static constexpr std::int64_t operations() {
    constexpr std::int64_t dofs = D == 2 ? N * N : N * N * N;
    return 2 * D * dofs * even + D * dofs;
  }

  /// `factors`: of affine cells (CellEvaluator::factors over w_q).
  void operator()(const Lanes<T>* factors, const Lanes<T>* x, Lanes<T>* y, Lanes<T>* scratch) const {
    if constexpr (D == 2)
      in_the_plane(factors, x, y);
    else
      in_space(factors, x, y, scratch);
  }

 private:
  static constexpr int odd = N / 2, even = N - odd;  ///< numbers of modes

  /// Sets the even modes (sign 1) or the odd ones (-1).
  void take_modes(int quadrature, int sign) {
    const BoxModes modes = box_modes(N, quadrature, sign);
    const int count = sign > 0 ? even : odd;
    for (int m = 0; m < count; ++m) {
      lambda_[sign > 0 ? m : even + m] = static_cast<T>(modes.lambda[m]);
      for (int j = 0; j < count; ++j)
        (sign > 0 ? even_[m][j] : odd_[m][j]) = static_cast<T>(modes.weights[m * count + j]);
    }
  }

  /// W v of the N values v[0], v[Stride], ..., in place.
  template <int Stride>
  [[gnu::always_inline]] void to_modes(Lanes<T>* v) const {
    Lanes<T> sum[even], difference[even];
    fold<N, Stride>(v, sum, difference);
    for (int m = 0; m < even; ++m) {
      Lanes<T> mode = even_[m][0] * sum[0];
      for (int j = 1; j < even; ++j) mode += even_[m][j] * sum[j];
      v[m * Stride] = mode;
    }
    for (int m = 0; m < odd; ++m) {
      Lanes<T> mode = odd_[m][0] * difference[0];
      for (int j = 1; j < odd; ++j) mode += odd_[m][j] * difference[j];
      v[(even + m) * Stride] = mode;
    }
  }
  /// W'v, in place.
  template <int Stride>
  [[gnu::always_inline]] void to_nodes(Lanes<T>* v) const {
    Lanes<T> sum[even], difference[even];
    for (int j = 0; j < even; ++j) {
      sum[j] = even_[0][j] * v[0];
      for (int m = 1; m < even; ++m) sum[j] += even_[m][j] * v[m * Stride];
    }
    for (int j = 0; j < odd; ++j) {
      difference[j] = odd_[0][j] * v[even * Stride];
      for (int m = 1; m < odd; ++m) difference[j] += odd_[m][j] * v[(even + m) * Stride];
    }
    for (int j = 0; j < odd; ++j) {
      v[j * Stride] = sum[j] + difference[j];
      v[(N - 1 - j) * Stride] = sum[j] - difference[j];
    }
    if constexpr (even > odd) v[odd * Stride] = sum[odd];
  }

  [[gnu::always_inline]] void plane_to_modes(Lanes<T>* plane) const {
    for (int j = 0; j < N; ++j) to_modes<1>(plane + j * N);
    for (int i = 0; i < N; ++i) to_modes<N>(plane + i);
  }
  [[gnu::always_inline]] void plane_to_nodes(Lanes<T>* plane) const {
    for (int i = 0; i < N; ++i) to_nodes<N>(plane + i);
    for (int j = 0; j < N; ++j) to_nodes<1>(plane + j * N);
  }

  void in_the_plane(const Lanes<T>* factors, const Lanes<T>* x, Lanes<T>* y) const {
    Lanes<T> plane[N * N];
    for (int i = 0; i < N * N; ++i) plane[i] = x[i];
    plane_to_modes(plane);
    for (int j = 0; j < N; ++j)
      for (int i = 0; i < N; ++i) plane[j * N + i] *= lambda_[i] * factors[0] + lambda_[j] * factors[2];
    plane_to_nodes(plane);
    for (int i = 0; i < N * N; ++i) y[i] = plane[i];
  }

  void in_space(const Lanes<T>* factors, const Lanes<T>* x, Lanes<T>* y, Lanes<T>* modes) const {
    const Lanes<T> c0 = factors[0], c1 = factors[3], c2 = factors[5];
    if constexpr (N == 2) {
      Lanes<T> cell[N * N * N];
      for (int i = 0; i < N * N * N; ++i) cell[i] = x[i];
      for (int k = 0; k < N; ++k) plane_to_modes(cell + k * N * N);
      for (int i = 0; i < N * N; ++i) {
        to_modes<N * N>(cell + i);
        const Lanes<T> in_plane = lambda_[i % N] * c0 + lambda_[i / N] * c1;
        for (int k = 0; k < N; ++k) cell[k * N * N + i] *= in_plane + lambda_[k] * c2;
        to_nodes<N * N>(cell + i);
      }
      for (int k = 0; k < N; ++k) plane_to_nodes(cell + k * N * N);
      for (int i = 0; i < N * N * N; ++i) y[i] = cell[i];
      return;
    }
    for (int k = 0; k < N; ++k) {
      Lanes<T> plane[N * N];
      for (int i = 0; i < N * N; ++i) plane[i] = x[k * N * N + i];
      plane_to_modes(plane);
      for (int i = 0; i < N * N; ++i) modes[k * N * N + i] = plane[i];
    }
    for (int j = 0; j < N; ++j)
      for (int i = 0; i < N; ++i) {
        Lanes<T> line[N];
        for (int k = 0; k < N; ++k) line[k] = modes[(k * N + j) * N + i];
        to_modes<1>(line);
        const Lanes<T> in_plane = lambda_[i] * c0 + lambda_[j] * c1;
        for (int k = 0; k < N; ++k) line[k] *= in_plane + lambda_[k] * c2;
        to_nodes<1>(line);
        for (int k = 0; k < N; ++k) modes[(k * N + j) * N + i] = line[k];
      }
    for (int k = 0; k < N; ++k) {
      Lanes<T> plane[N * N];
      for (int i = 0; i < N * N; ++i) plane[i] = modes[k * N * N + i];
      plane_to_nodes(plane);
      for (int i = 0; i < N * N; ++i) y[k * N * N + i] = plane[i];
    }
  }

  T even_[even][even], odd_[odd][odd];  ///< W for sums, and for differences, of mirrored nodes
  T lambda_[N];
};

}  // namespace femcg::operators
