#pragma once

// Reference element matrices by definition, in long double and plain loops. Only mesh nodes and dof numbers come from
// the library. Bases, quadrature and geometry follow the mesh library's documentation but use other methods:
// polynomials by monomials (library: products and Bernstein polynomials), Gauss points by Newton's method (library:
// Golub & Welsch), simplices as collapsed cubes.

#include <Eigen/Dense>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "operators/forms/bilinear_form.hpp"

namespace femcg::tests {

using Real = long double;
using RealVector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;
using RealMatrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;

/// Points, one per column, and weights.
struct Rule {
  RealMatrix points;
  RealVector weights;
};

/// The n Gauss points on [0, 1]: zeros of the Legendre polynomial P_n, with w = 1 / ((1 - x^2) P_n'(x)^2).
inline Rule gauss_points(int n) {
  Rule rule{RealMatrix(1, n), RealVector(n)};
  for (int i = 0; i < n; ++i) {
    Real x = std::cos(std::numbers::pi_v<Real> * (i + 0.75L) / (n + 0.5L)), slope = 0;
    for (int step = 0; step < 100; ++step) {
      Real before = 1, value = x;
      for (int k = 2; k <= n; ++k) {
        const Real next = ((2 * k - 1) * x * value - (k - 1) * before) / k;
        before = value;
        value = next;
      }
      slope = n * (x * value - before) / (x * x - 1);
      const Real change = value / slope;
      x -= change;
      if (std::abs(change) < 1e-18L) break;
    }
    rule.points(0, i) = (1 - x) / 2;
    rule.weights[i] = 1 / ((1 - x * x) * slope * slope);
  }
  return rule;
}

/// Rule with n points along each axis of the unit square or cube; collapsed to the simplex by (r, s, t) -> (r (1 - s)
/// (1 - t), s (1 - t), t), with determinant (1 - s) (1 - t)^2; in 2D without t.
inline Rule gauss_points(int d, bool tensor, int n) {
  const Rule line = gauss_points(n);
  const int count = d == 1 ? n : d == 2 ? n * n : n * n * n;
  Rule rule{RealMatrix(d, count), RealVector(count)};
  for (int q = 0; q < count; ++q) {
    Real weight = 1;
    for (int axis = 0, rest = q; axis < d; ++axis, rest /= n) {
      rule.points(axis, q) = line.points(0, rest % n);
      weight *= line.weights[rest % n];
    }
    for (int axis = 1; !tensor && axis < d; ++axis)
      for (int before = 0; before < axis; ++before) {
        weight *= 1 - rule.points(axis, q);
        rule.points(before, q) *= 1 - rule.points(axis, q);
      }
    rule.weights[q] = weight;
  }
  return rule;
}

/// Lagrange polynomials of a lattice, i fastest: 0 <= i, j, k <= p on tensor cells, i + j + k <= p on simplices. Each
/// is a sum of monomials x^i y^j z^k with the same indices.
class Polynomials {
 public:
  /// Nodes: Gauss-Lobatto points on each line, with recursive interpolation in simplices; or equally spaced.
  Polynomials(int d, bool tensor, int p, bool gauss_lobatto) : d_(d) {
    for (int k = 0; k <= (d == 3 ? p : 0); ++k)
      for (int j = 0; j <= (tensor ? p : p - k); ++j)
        for (int i = 0; i <= (tensor ? p : p - j - k); ++i) exponents_.push_back({i, j, k});
    const auto n = static_cast<Eigen::Index>(exponents_.size());
    RealMatrix vandermonde(n, n);
    for (Eigen::Index a = 0; a < n; ++a) {
      const std::array<int, 3>& index = exponents_[static_cast<std::size_t>(a)];
      RealVector node(d);
      for (int axis = 0; axis < d; ++axis) node[axis] = gauss_lobatto ? lobatto(p)[index[axis]] : Real(index[axis]) / p;
      if (!tensor && gauss_lobatto) {
        std::vector<int> barycentric{p - index[0] - index[1] - index[2]};
        for (int axis = 0; axis < d; ++axis) barycentric.push_back(index[axis]);
        node = interpolated(barycentric).tail(d);
      }
      vandermonde.row(a) = monomials(node, -1).transpose();
    }
    coefficients_ = vandermonde.fullPivLu().inverse();
  }

  Eigen::Index size() const { return coefficients_.cols(); }
  RealVector values(const RealVector& at) const { return coefficients_.transpose() * monomials(at, -1); }
  /// Gradients, size x d.
  RealMatrix gradients(const RealVector& at) const {
    RealMatrix gradients(size(), d_);
    for (int axis = 0; axis < d_; ++axis) gradients.col(axis) = coefficients_.transpose() * monomials(at, axis);
    return gradients;
  }

 private:
  /// Zeros of x (1 - x) P_p'(2 x - 1).
  static std::vector<Real> lobatto(int p) {
    const Real third = std::sqrt(1 / 5.0L), fourth = std::sqrt(3 / 7.0L);
    const std::vector<std::vector<Real>> points{{0.5L},
                                                {0, 1},
                                                {0, 0.5L, 1},
                                                {0, (1 - third) / 2, (1 + third) / 2, 1},
                                                {0, (1 - fourth) / 2, 0.5L, (1 + fourth) / 2, 1}};
    return points[static_cast<std::size_t>(p)];
  }

  /// Barycentric coordinates of a node with indices that sum to p: the mean over i of the nodes of the lattices without
  /// index i, weighted by the Gauss-Lobatto point p - index i (Isaac 2020).
  static RealVector interpolated(const std::vector<int>& indices) {
    int p = 0;
    for (const int index : indices) p += index;
    const auto count = static_cast<Eigen::Index>(indices.size());
    if (count == 1) return RealVector::Ones(1);
    RealVector node = RealVector::Zero(count);
    if (count == 2) {
      node << lobatto(p)[indices[0]], lobatto(p)[indices[1]];
      return node;
    }
    for (Eigen::Index i = 0; i < count; ++i) {
      std::vector<int> others = indices;
      others.erase(others.begin() + i);
      const Real weight = lobatto(p)[p - indices[i]];
      const RealVector inner = interpolated(others);
      for (Eigen::Index j = 0; j < count; ++j)
        if (j != i) node[j] += weight * inner[j < i ? j : j - 1];
    }
    return node / node.sum();
  }

  /// Monomials at a point, or their derivatives along an axis.
  RealVector monomials(const RealVector& at, int derived) const {
    RealVector values(static_cast<Eigen::Index>(exponents_.size()));
    for (Eigen::Index m = 0; m < values.size(); ++m) {
      values[m] = 1;
      for (int axis = 0; axis < d_; ++axis) {
        const int exponent = exponents_[static_cast<std::size_t>(m)][static_cast<std::size_t>(axis)];
        if (axis != derived)
          values[m] *= std::pow(at[axis], exponent);
        else
          values[m] *= exponent == 0 ? 0 : exponent * std::pow(at[axis], exponent - 1);
      }
    }
    return values;
  }

  int d_;
  std::vector<std::array<int, 3>> exponents_;
  RealMatrix coefficients_;
};

/// A function in space: a number, or a symmetric matrix.
using PointFunction = std::function<Real(const RealVector&)>;
using PointTensor = std::function<RealMatrix(const RealVector&)>;

/// K_ij = integral of grad phi_i . kappa grad phi_j over a cell, and of alpha phi_i phi_j over its Robin facets, with n
/// points along each axis; in a body of revolution times 2 pi x.
class Definition {
 public:
  Definition(const operators::BilinearForm& form, PointTensor kappa, PointFunction alpha, int n)
      : form_(&form),
        mesh_(&form.space->mesh()),
        d_(mesh_->dimension()),
        tensor_(mesh::is_tensor(mesh_->shape)),
        kappa_(std::move(kappa)),
        alpha_(std::move(alpha)),
        n_(n),
        basis_(d_, tensor_, form.space->degree(), true),
        geometry_(d_, tensor_, mesh_->order, false) {}

  RealMatrix element_matrix(std::int32_t cell) const;
  /// Bounds t_i: the products summed in K_ij have absolute values of at most t_i t_j
  /// (solver/benchmark/product_rounding.cpp).
  RealVector terms(std::int32_t cell) const;
  /// y = A x on the unknowns.
  std::vector<Real> apply(const std::vector<double>& x) const;

 private:
  struct Place {
    RealVector x;
    RealMatrix jacobian;  ///< (i, j) = d x_i / d xi_j
  };
  Place place(std::int32_t cell, const RealVector& xi) const;
  Real circumference(const RealVector& x) const {
    return mesh_->axisymmetric ? 2 * std::numbers::pi_v<Real> * x[0] : Real(1);
  }
  void add_facet(std::int32_t cell, int facet, RealMatrix& k) const;

  const operators::BilinearForm* form_;
  const mesh::Mesh* mesh_;
  int d_;
  bool tensor_;
  PointTensor kappa_;
  PointFunction alpha_;
  int n_;
  Polynomials basis_, geometry_;
};

inline Definition::Place Definition::place(std::int32_t cell, const RealVector& xi) const {
  RealMatrix nodes(d_, geometry_.size());
  const auto of_cell = mesh_->nodes(cell);
  for (Eigen::Index a = 0; a < nodes.cols(); ++a)
    for (int axis = 0; axis < d_; ++axis)
      nodes(axis, a) = mesh_->point(of_cell[static_cast<std::size_t>(a)])[static_cast<std::size_t>(axis)];
  return {nodes * geometry_.values(xi), nodes * geometry_.gradients(xi)};
}

inline RealMatrix Definition::element_matrix(std::int32_t cell) const {
  RealMatrix k = RealMatrix::Zero(basis_.size(), basis_.size());
  const Rule rule = gauss_points(d_, tensor_, n_);
  for (Eigen::Index q = 0; q < rule.weights.size(); ++q) {
    const Place at = place(cell, rule.points.col(q));
    // grad phi = J^-T grad_xi phi.
    const RealMatrix gradients = basis_.gradients(rule.points.col(q)) * at.jacobian.inverse();
    const Real weight = rule.weights[q] * std::abs(at.jacobian.determinant()) * circumference(at.x);
    const RealMatrix kappa = kappa_(at.x);
    for (Eigen::Index i = 0; i < k.rows(); ++i)
      for (Eigen::Index j = 0; j < k.cols(); ++j)
        for (int a = 0; a < d_; ++a)
          for (int b = 0; b < d_; ++b) k(i, j) += weight * gradients(i, a) * kappa(a, b) * gradients(j, b);
  }
  for (const operators::RobinFacet& robin : form_->robin)
    if (robin.cell == cell) add_facet(cell, robin.facet, k);
  return k;
}

inline RealVector Definition::terms(std::int32_t cell) const {
  RealMatrix of_axes = RealMatrix::Zero(basis_.size(), d_);
  const Rule rule = gauss_points(d_, tensor_, n_);
  for (Eigen::Index q = 0; q < rule.weights.size(); ++q) {
    const Place at = place(cell, rule.points.col(q));
    const RealMatrix gradients = basis_.gradients(rule.points.col(q)), inverse = at.jacobian.inverse();
    const RealMatrix d = rule.weights[q] * std::abs(at.jacobian.determinant()) * circumference(at.x) * inverse *
                         kappa_(at.x) * inverse.transpose();
    for (int axis = 0; axis < d_; ++axis) of_axes.col(axis) += d(axis, axis) * gradients.col(axis).cwiseAbs2();
  }
  RealMatrix of_facets = RealMatrix::Zero(basis_.size(), basis_.size());
  for (const operators::RobinFacet& robin : form_->robin)
    if (robin.cell == cell) add_facet(cell, robin.facet, of_facets);
  return of_axes.cwiseSqrt().rowwise().sum() + of_facets.diagonal().cwiseSqrt();
}

/// Facets of tensor cells: axis f / 2 is 0 or 1; of simplices: all vertices but number d - f.
inline void Definition::add_facet(std::int32_t cell, int facet, RealMatrix& k) const {
  RealVector origin = RealVector::Zero(d_);
  RealMatrix tangents = RealMatrix::Zero(d_, d_ - 1);
  if (tensor_) {
    origin[facet / 2] = facet % 2;
    for (int axis = 0, column = 0; axis < d_; ++axis)
      if (axis != facet / 2) tangents(axis, column++) = 1;
  } else {
    RealMatrix vertices = RealMatrix::Zero(d_, d_ + 1);
    vertices.rightCols(d_).setIdentity();
    std::vector<int> corners;
    for (int vertex = 0; vertex <= d_; ++vertex)
      if (vertex != d_ - facet) corners.push_back(vertex);
    origin = vertices.col(corners[0]);
    for (int column = 0; column < d_ - 1; ++column) tangents.col(column) = vertices.col(corners[column + 1]) - origin;
  }
  const Rule rule = gauss_points(d_ - 1, tensor_, n_);
  for (Eigen::Index q = 0; q < rule.weights.size(); ++q) {
    const RealVector xi = origin + tangents * rule.points.col(q);
    const Place at = place(cell, xi);
    const RealMatrix along = at.jacobian * tangents;
    // Area spanned by the tangents: square root of Gram's determinant.
    const Real measure = std::sqrt((along.transpose() * along).determinant()) * circumference(at.x);
    const RealVector phi = basis_.values(xi);
    k += rule.weights[q] * measure * alpha_(at.x) * phi * phi.transpose();
  }
}

inline std::vector<Real> Definition::apply(const std::vector<double>& x) const {
  std::vector<Real> y(x.size(), 0);
  for (std::int32_t cell = 0; cell < form_->cells(); ++cell) {
    const RealMatrix k = element_matrix(cell);
    for (int i = 0; i < form_->dofs_per_cell(); ++i)
      for (int j = 0; j < form_->dofs_per_cell(); ++j)
        if (form_->unknown(cell, i) >= 0 && form_->unknown(cell, j) >= 0)
          y[static_cast<std::size_t>(form_->unknown(cell, i))] +=
              k(i, j) * x[static_cast<std::size_t>(form_->unknown(cell, j))];
  }
  return y;
}

}  // namespace femcg::tests
