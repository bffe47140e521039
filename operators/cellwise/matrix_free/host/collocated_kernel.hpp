#pragma once

#include <Eigen/Dense>
#include <cstdint>

#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "operators/backend/threads/simd.hpp"
#include "operators/cellwise/matrix_free/host/mirrored_line.hpp"
#include "operators/cellwise/matrix_free/host/symmetric_factor.hpp"

namespace femcg::operators {

/// The product of TensorKernel for as many Gauss points as nodes per direction, N = degree + 1: plane by plane in
/// registers, with half the multiplications per line. About 2 d n^(d + 1) multiply-adds a cell.
template <std::floating_point T, int D, int N>
class CollocatedKernel {
 public:
  CollocatedKernel(const mesh::LagrangeBasis& basis, int /*quadrature*/)
      : CollocatedKernel(basis, mesh::gauss_lobatto_points(N), mesh::gauss_line(N).points.row(0).transpose()) {}

  static constexpr std::int64_t scratch_size() { return D == 2 ? 0 : 2 * points; }
  static constexpr std::int64_t operations() { return 4 * D * points * ((N + 1) / 2) + D * D * points; }

  /// factors: D (D + 1) / 2 Lanes per point, or one set (D_q / w_q) if `constant`.
  void operator()(const Lanes<T>* factors, bool constant, const Lanes<T>* x, Lanes<T>* y, Lanes<T>* scratch) const {
    if constexpr (D == 2)
      constant ? in_the_plane<true>(factors, x, y) : in_the_plane<false>(factors, x, y);
    else
      constant ? in_space<true>(factors, x, y, scratch) : in_space<false>(factors, x, y, scratch);
  }

 private:
  static constexpr int plane = N * N, points = D == 2 ? plane : plane * N, entries = D * (D + 1) / 2;

  CollocatedKernel(const mesh::LagrangeBasis& basis, const Eigen::VectorXd& nodes, const Eigen::VectorXd& gauss)
      : interpolate_(mesh::line_values(nodes, gauss)),
        interpolate_back_(mesh::line_values(nodes, gauss).transpose()),
        differentiate_(mesh::line_derivatives(gauss, gauss)),
        differentiate_back_(mesh::line_derivatives(gauss, gauss).transpose()) {
    const mesh::Quadrature rule = mesh::cell_quadrature(basis.shape(), N);
    for (int q = 0; q < points; ++q) weights_[q] = static_cast<T>(rule.weights[q]);
  }

  template <class Line>
  [[gnu::always_inline]] static void along_both(const Line& line, const Lanes<T>* from, Lanes<T>* to) {
    for (int j = 0; j < N; ++j) line.template apply<1>(from + j * N, to + j * N);
    for (int i = 0; i < N; ++i) line.template apply<N>(to + i, to + i);
  }

  /// Multiplies the two derivatives in a plane, and `third`, by the factors of its points; u becomes the transposed
  /// derivatives of the first two.
  template <bool Constant>
  [[gnu::always_inline]] void work_on_plane(const Lanes<T>* factors, const T* weights, Lanes<T>* u,
                                            Lanes<T>* third) const {
    Lanes<T> first[plane], second[plane];
    for (int j = 0; j < N; ++j) differentiate_.template apply<1>(u + j * N, first + j * N);
    for (int i = 0; i < N; ++i) differentiate_.template apply<N>(u + i, second + i);
    for (int q = 0; q < plane; ++q) {
      Lanes<T> g[3] = {first[q], second[q]};
      if constexpr (D == 3) g[2] = third[q];
      if constexpr (Constant)
        for (int axis = 0; axis < D; ++axis) g[axis] *= weights[q];
      const Lanes<T>* f = factors + (Constant ? 0 : q * entries);
      if constexpr (!Constant)
        for (int e = 0; e < entries; ++e) prefetch_ahead(reinterpret_cast<const T*>(f + e), ahead);
      multiply_by_factor<D, T>(f, g);
      first[q] = g[0];
      second[q] = g[1];
      if constexpr (D == 3) third[q] = g[2];
    }
    for (int j = 0; j < N; ++j) differentiate_back_.template apply<1>(first + j * N, u + j * N);
    for (int i = 0; i < N; ++i) {
      differentiate_back_.template apply<N>(second + i, second + i);
      for (int j = 0; j < N; ++j) u[j * N + i] += second[j * N + i];
    }
  }

  template <bool Constant>
  void in_the_plane(const Lanes<T>* factors, const Lanes<T>* x, Lanes<T>* y) const {
    Lanes<T> u[plane];
    along_both(interpolate_, x, u);
    work_on_plane<Constant>(factors, weights_, u, nullptr);
    for (int i = 0; i < N; ++i) interpolate_back_.template apply<N>(u + i, u + i);
    for (int j = 0; j < N; ++j) interpolate_back_.template apply<1>(u + j * N, y + j * N);
  }

  template <bool Constant>
  void in_space(const Lanes<T>* factors, const Lanes<T>* x, Lanes<T>* y, Lanes<T>* u) const {
    Lanes<T>* third = u + points;
    for (int k = 0; k < N; ++k) along_both(interpolate_, x + k * plane, u + k * plane);
    for (int i = 0; i < plane; ++i) {
      Lanes<T> line[N], slopes[N];
      for (int k = 0; k < N; ++k) line[k] = u[k * plane + i];
      interpolate_.template apply<1>(line, line);
      differentiate_.template apply<1>(line, slopes);
      for (int k = 0; k < N; ++k) {
        u[k * plane + i] = line[k];
        third[k * plane + i] = slopes[k];
      }
    }
    for (int k = 0; k < N; ++k)
      work_on_plane<Constant>(factors + (Constant ? 0 : k * plane * entries), weights_ + k * plane, u + k * plane,
                              third + k * plane);
    for (int i = 0; i < plane; ++i) {
      Lanes<T> line[N], slopes[N];
      for (int k = 0; k < N; ++k) slopes[k] = third[k * plane + i];
      differentiate_back_.template apply<1>(slopes, line);
      for (int k = 0; k < N; ++k) line[k] += u[k * plane + i];
      interpolate_back_.template apply<1>(line, line);
      for (int k = 0; k < N; ++k) u[k * plane + i] = line[k];
    }
    for (int k = 0; k < N; ++k) {
      Lanes<T>* at = u + k * plane;
      for (int i = 0; i < N; ++i) interpolate_back_.template apply<N>(at + i, at + i);
      for (int j = 0; j < N; ++j) interpolate_back_.template apply<1>(at + j * N, y + k * plane + j * N);
    }
  }

  static constexpr std::intptr_t ahead = 1024;  ///< values
  MirroredLine<T, N, 1> interpolate_, interpolate_back_;
  MirroredLine<T, N, -1> differentiate_, differentiate_back_;
  T weights_[points];
};

}  // namespace femcg::operators
