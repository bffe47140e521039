#pragma once

#include <Eigen/Dense>
#include <cstdint>
#include <vector>

#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "operators/cellwise/matrix_free/host/symmetric_factor.hpp"

namespace femcg::operators {

/// Nodes of degree 2 of a triangle or tetrahedron: vertices on the diagonal, midpoints of edges off it.
constexpr int quadratic_nodes[4][4] = {{0, 1, 3, 6}, {1, 2, 4, 7}, {3, 4, 5, 8}, {6, 7, 8, 9}};

/// Multiply-adds of a simplex with one D_q / w_q.
constexpr std::int64_t operations_of_affine_simplex(std::int64_t d, std::int64_t dofs) {
  if (dofs == d + 1) return d * d + 3 * d;
  if (dofs == (d + 1) * (d + 2) / 2) return (d + 1) * (d * d + 7 * d + 2);
  return dofs * (dofs + 1) / 2 * (d * (d + 1) / 2) + dofs * dofs;
}

/// y_e = B' D B x_e on triangles and tetrahedra.
///
/// If D_q / w_q is one matrix: K_e = sum_ab D_ab R_ab with the reference matrices R_ab = sum_q w_q d_a phi d_b phi',
/// entry by entry of the lower triangle; for degree 1 the differences to the first vertex times D; for degree 2 the
/// gradients at the vertices, between which they are linear. Otherwise: gradients at all points from dense tables,
/// times D_q, and the transpose.
template <std::floating_point T, int D>
class SimplexKernel {
 public:
  static constexpr int entries = D * (D + 1) / 2;

  SimplexKernel(const mesh::LagrangeBasis& basis, int quadrature) : n_(basis.size()) {
    const mesh::Quadrature rule = mesh::cell_quadrature(basis.shape(), quadrature);
    points_ = rule.size();
    measure_ = static_cast<T>(rule.weights.sum());
    const std::vector<Eigen::MatrixXd> gradients = basis.gradients(rule.points);
    std::vector<Eigen::MatrixXd> matrices;
    for (int a = 0; a < D; ++a)
      for (int b = a; b < D; ++b) {
        const Eigen::MatrixXd half = gradients[a].transpose() * rule.weights.asDiagonal() * gradients[b];
        matrices.push_back(a == b ? half : half + half.transpose());
      }
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j <= i; ++j)
        for (const Eigen::MatrixXd& matrix : matrices) reference_.push_back(static_cast<T>(matrix(i, j)));
    for (int q = 0; q < points_; ++q)
      for (int i = 0; i < n_; ++i)
        for (int a = 0; a < D; ++a) tables_.push_back(static_cast<T>(gradients[a](q, i)));
  }

  std::int64_t scratch_size() const { return 0; }
  std::int64_t operations(bool constant) const {
    return constant ? operations_of_affine_simplex(D, n_) : std::int64_t{points_} * (2 * D * n_ + D * D);
  }

  void operator()(const Lanes<T>* factors, bool constant, const Lanes<T>* x, Lanes<T>* y, Lanes<T>*) const {
    if (!constant)
      apply_tables(factors, x, y);
    else if (n_ == D + 1)
      apply_differences(factors, x, y);
    else if (n_ == (D + 1) * (D + 2) / 2)
      apply_at_vertices(factors, x, y);
    else
      apply_reference_matrices(factors, x, y);
  }

 private:
  void apply_differences(const Lanes<T>* factors, const Lanes<T>* x, Lanes<T>* y) const {
    Lanes<T> g[3];
    for (int a = 0; a < D; ++a) g[a] = measure_ * (x[a + 1] - x[0]);
    multiply_by_factor<D, T>(factors, g);
    y[0] = Lanes<T>{};
    for (int a = 0; a < D; ++a) {
      y[0] -= g[a];
      y[a + 1] = g[a];
    }
  }

  /// With p_j, the derivatives by barycentric coordinates, which are 4 u_vj - u_j at vertex v, and 3 u_v for j = v, the
  /// gradient is p_j - p_0, j > 0. The integral of a product of linear functions is that of their values at the
  /// vertices, sum_vw (1 + delta_vw) f_v g_w, over (D + 1) (D + 2).
  void apply_at_vertices(const Lanes<T>* factors, const Lanes<T>* x, Lanes<T>* y) const {
    constexpr auto& node = quadratic_nodes;
    const T scale = measure_ / T((D + 1) * (D + 2));
    Lanes<T> f[entries], g[D + 1][D], sum[D]{}, p[D + 1][D + 1];
    for (int e = 0; e < entries; ++e) f[e] = scale * factors[e];
#pragma GCC unroll 4
    for (int v = 0; v <= D; ++v) {
#pragma GCC unroll 4
      for (int j = 0; j <= D; ++j) p[v][j] = j == v ? 3 * x[node[v][v]] : 4 * x[node[v][j]] - x[node[j][j]];
#pragma GCC unroll 4
      for (int a = 0; a < D; ++a) {
        g[v][a] = p[v][a + 1] - p[v][0];
        sum[a] += g[v][a];
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v <= D; ++v) {
#pragma GCC unroll 4
      for (int a = 0; a < D; ++a) g[v][a] += sum[a];
      multiply_by_factor<D, T>(f, g[v]);
      p[v][0] = Lanes<T>{};
#pragma GCC unroll 4
      for (int a = 0; a < D; ++a) {
        p[v][0] -= g[v][a];
        p[v][a + 1] = g[v][a];
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v <= D; ++v) {
      Lanes<T> at_vertex = 3 * p[v][v];
#pragma GCC unroll 4
      for (int w = 0; w <= D; ++w) {
        if (w != v) at_vertex -= p[w][v];
        if (w < v) y[node[v][w]] = 4 * (p[v][w] + p[w][v]);
      }
      y[node[v][v]] = at_vertex;
    }
  }

  void apply_reference_matrices(const Lanes<T>* factors, const Lanes<T>* x, Lanes<T>* y) const {
    Lanes<T> f[entries];
    for (int e = 0; e < entries; ++e) f[e] = factors[e];
    const T* r = reference_.data();
    for (int i = 0; i < n_; ++i) {
      const Lanes<T> x_i = x[i];
      Lanes<T> sum{};
      for (int j = 0; j <= i; ++j, r += entries) {
        Lanes<T> k = r[0] * f[0];
        for (int e = 1; e < entries; ++e) k += r[e] * f[e];
        sum += k * x[j];
        if (j < i) y[j] += k * x_i;
      }
      y[i] = sum;
    }
  }

  void apply_tables(const Lanes<T>* factors, const Lanes<T>* x, Lanes<T>* y) const {
    for (int i = 0; i < n_; ++i) y[i] = Lanes<T>{};
    for (int q = 0; q < points_; ++q, factors += entries) {
      const T* b = tables_.data() + std::int64_t{q} * n_ * D;
      Lanes<T> g[3]{};
      for (int i = 0; i < n_; ++i)
        for (int a = 0; a < D; ++a) g[a] += b[i * D + a] * x[i];
      multiply_by_factor<D, T>(factors, g);
      for (int i = 0; i < n_; ++i)
        for (int a = 0; a < D; ++a) y[i] += b[i * D + a] * g[a];
    }
  }

  int n_, points_;
  T measure_;                 ///< of the reference cell
  std::vector<T> reference_;  ///< [lower triangle][entries]
  std::vector<T> tables_;     ///< [points][dofs][D]
};

}  // namespace femcg::operators
