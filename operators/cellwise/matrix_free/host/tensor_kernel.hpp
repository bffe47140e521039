#pragma once

#include <Eigen/Dense>
#include <cstdint>
#include <vector>

#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "operators/cellwise/matrix_free/host/symmetric_factor.hpp"

namespace femcg::operators {

/// out(.., r, ..) (+)= sum_c m(r, c) in(.., c, ..) along one axis of an array with `inner` values before that axis and
/// `outer` after it. Sizes given by template arguments other than 0 are compile-time constants.
template <int Rows, int Columns, std::floating_point T>
[[gnu::always_inline]] inline void contract(const T* m, const Lanes<T>* in, Lanes<T>* out, int run_rows,
                                            int run_columns, int inner, int outer, bool add) {
  constexpr int most_columns = Columns > 0 ? Columns : 17;
  const int rows = Rows > 0 ? Rows : run_rows, columns = Columns > 0 ? Columns : run_columns;
  for (int o = 0; o < outer; ++o)
    for (int i = 0; i < inner; ++i) {
      const Lanes<T>* from = in + o * columns * inner + i;
      Lanes<T>* to = out + o * rows * inner + i;
      Lanes<T> held[most_columns];
      for (int c = 0; c < columns; ++c) held[c] = from[c * inner];
      for (int r = 0; r < rows; ++r) {
        Lanes<T> sum = add ? to[r * inner] : Lanes<T>{};
        for (int c = 0; c < columns; ++c) sum += m[r * columns + c] * held[c];
        to[r * inner] = sum;
      }
    }
}

/// y_e = B' D B x_e on quadrilaterals and hexahedra by sum factorisation: the dofs are interpolated to the Gauss points
/// axis by axis, differentiated there by the derivatives of the Lagrange polynomials on the Gauss points, multiplied by
/// D, and all steps transposed. About 4 d n^(d+1) multiply-adds a cell instead of n^(2d), for any number of Gauss
/// points; N = degree + 1.
template <std::floating_point T, int D, int N>
class TensorKernel {
 public:
  TensorKernel(const mesh::LagrangeBasis& basis, int quadrature) : q_(quadrature) {
    const mesh::Quadrature gauss = mesh::gauss_line(quadrature);
    const Eigen::VectorXd points = gauss.points.row(0).transpose(),
                          nodes = mesh::gauss_lobatto_points(basis.degree() + 1);
    interpolate_ = row_major(mesh::line_values(nodes, points));
    interpolate_transposed_ = row_major(mesh::line_values(nodes, points).transpose());
    differentiate_ = row_major(mesh::line_derivatives(points, points));
    differentiate_transposed_ = row_major(mesh::line_derivatives(points, points).transpose());
    const mesh::Quadrature rule = mesh::cell_quadrature(basis.shape(), quadrature);
    weights_.assign(rule.weights.data(), rule.weights.data() + rule.size());
  }

  /// Scratch memory in Lanes.
  std::int64_t scratch_size() const { return (D + 2) * points(); }
  /// Multiply-adds per cell.
  std::int64_t operations() const {
    const std::int64_t q = q_, n = N;
    const std::int64_t interpolation = D == 2 ? q * n * n + q * q * n : q * n * n * n + q * q * n * n + q * q * q * n;
    return 2 * interpolation + 2 * D * q * points() + D * D * points();
  }

  /// factors: D (D + 1) / 2 Lanes per point, or one set (D_q / w_q) if `constant`.
  void operator()(const Lanes<T>* factors, bool constant, const Lanes<T>* x, Lanes<T>* y, Lanes<T>* scratch) const {
    const int count = points();
    Lanes<T>* u = scratch;
    Lanes<T>* other = scratch + count;
    Lanes<T>* g = scratch + 2 * count;
    interpolate(x, u, other);
    for (int axis = 0; axis < D; ++axis) along(differentiate_.data(), u, g + axis * count, axis, false);
    multiply_by_factors(factors, constant, g);
    for (int axis = 0; axis < D; ++axis) along(differentiate_transposed_.data(), g + axis * count, u, axis, axis > 0);
    interpolate_back(u, y, other);
  }

 private:
  static std::vector<T> row_major(const Eigen::MatrixXd& matrix) {
    std::vector<T> values;
    for (Eigen::Index i = 0; i < matrix.rows(); ++i)
      for (Eigen::Index j = 0; j < matrix.cols(); ++j) values.push_back(static_cast<T>(matrix(i, j)));
    return values;
  }
  [[gnu::always_inline]] int points() const { return D == 2 ? q_ * q_ : q_ * q_ * q_; }

  [[gnu::always_inline]] void along(const T* m, const Lanes<T>* in, Lanes<T>* out, int axis, bool add) const {
    const int n = q_;
    const int inner = axis == 0 ? 1 : axis == 1 ? n : n * n;
    contract<0, 0>(m, in, out, n, n, inner, points() / n / inner, add);
  }
  [[gnu::always_inline]] void interpolate(const Lanes<T>* x, Lanes<T>* u, Lanes<T>* other) const {
    const int n = q_;
    const T* m = interpolate_.data();
    if constexpr (D == 2) {
      contract<0, N>(m, x, other, n, N, 1, N, false);
      contract<0, N>(m, other, u, n, N, n, 1, false);
    } else {
      contract<0, N>(m, x, u, n, N, 1, N * N, false);
      contract<0, N>(m, u, other, n, N, n, N, false);
      contract<0, N>(m, other, u, n, N, n * n, 1, false);
    }
  }
  [[gnu::always_inline]] void interpolate_back(Lanes<T>* u, Lanes<T>* y, Lanes<T>* other) const {
    const int n = q_;
    const T* m = interpolate_transposed_.data();
    if constexpr (D == 2) {
      contract<N, 0>(m, u, other, N, n, n, 1, false);
      contract<N, 0>(m, other, y, N, n, 1, N, false);
    } else {
      contract<N, 0>(m, u, other, N, n, n * n, 1, false);
      contract<N, 0>(m, other, u, N, n, n, N, false);
      contract<N, 0>(m, u, y, N, n, 1, N * N, false);
    }
  }
  [[gnu::always_inline]] void multiply_by_factors(const Lanes<T>* factors, bool constant, Lanes<T>* g) const {
    constexpr int entries = D * (D + 1) / 2;
    const int count = points();
    for (int point = 0; point < count; ++point) {
      const T weight = constant ? weights_[point] : T(1);
      Lanes<T> at_point[D];
      for (int axis = 0; axis < D; ++axis) at_point[axis] = weight * g[axis * count + point];
      multiply_by_factor<D, T>(factors + (constant ? 0 : point * entries), at_point);
      for (int axis = 0; axis < D; ++axis) g[axis * count + point] = at_point[axis];
    }
  }

  int q_;
  std::vector<T> interpolate_, interpolate_transposed_;      ///< [Gauss points][nodes], and transposed
  std::vector<T> differentiate_, differentiate_transposed_;  ///< [Gauss points][Gauss points]
  std::vector<T> weights_;
};

}  // namespace femcg::operators
