#include <doctest/doctest.h>
#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <vector>

#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "mesh/element/reference_cell.hpp"

using namespace femcg::mesh;

namespace {

double factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }

/// Integral of x^i y^j z^k over the reference cell.
double exact_integral(CellShape shape, int i, int j, int k) {
  if (is_tensor(shape)) return 1.0 / ((i + 1.0) * (j + 1.0) * (k + 1.0));
  return factorial(i) * factorial(j) * factorial(k) / factorial(i + j + k + dimension(shape));
}

double power(const Eigen::MatrixXd& points, Eigen::Index q, int i, int j, int k) {
  return std::pow(points(0, q), i) * std::pow(points(1, q), j) * (points.rows() == 3 ? std::pow(points(2, q), k) : 1.0);
}

}  // namespace

TEST_CASE("quadrature integrates every monomial of its degree, and not all of the next degrees") {
  for (const CellShape shape : all_cell_shapes)
    for (int n = 1; n <= 8; ++n) {
      CAPTURE(name(shape));
      CAPTURE(n);
      const Quadrature rule = cell_quadrature(shape, n);
      CHECK(rule.weights.minCoeff() > 0);
      CHECK(rule.points.minCoeff() > 0);
      CHECK((is_tensor(shape) ? rule.points.maxCoeff() : rule.points.colwise().sum().maxCoeff()) < 1);
      const int degree = is_tensor(shape) ? 2 * n - 1 : 2 * (n - 1);
      double worst = 0, beyond = 0;
      for (int i = 0; i <= degree + 2; ++i)
        for (int j = 0; j <= degree + 2; ++j)
          for (int k = 0; k <= (dimension(shape) == 3 ? degree + 2 : 0); ++k) {
            const bool within = is_tensor(shape) ? std::max({i, j, k}) <= degree : i + j + k <= degree;
            double sum = 0;
            for (int q = 0; q < rule.size(); ++q) sum += rule.weights[q] * power(rule.points, q, i, j, k);
            const double error = std::abs(sum - exact_integral(shape, i, j, k));
            (within ? worst : beyond) = std::max(within ? worst : beyond, error);
          }
      CHECK(worst < 1e-14);
      CHECK(beyond > 1e-13);
    }
  CHECK_THROWS_AS(cell_quadrature(CellShape::triangle, 0), std::invalid_argument);
  CHECK_THROWS_AS(cell_quadrature(CellShape::triangle, 17), std::invalid_argument);
}

TEST_CASE("symmetric rules on simplices take few points, and are the same from every vertex") {
  const std::vector<std::vector<int>> sizes{{1, 3, 6, 12, 16}, {1, 4, 14, 24, 46}};
  for (const CellShape shape : {CellShape::triangle, CellShape::tetrahedron})
    for (int n = 1; n <= 5; ++n) {
      CAPTURE(name(shape));
      CAPTURE(n);
      const Quadrature rule = cell_quadrature(shape, n);
      CHECK(rule.size() == sizes[dimension(shape) - 2][n - 1]);
      // The first barycentric coordinate takes the same values as the last one.
      Eigen::RowVectorXd first = 1 - rule.points.colwise().sum().array(), last = rule.points.bottomRows(1);
      std::sort(first.begin(), first.end());
      std::sort(last.begin(), last.end());
      CHECK((first - last).cwiseAbs().maxCoeff() < 1e-15);
    }
}

TEST_CASE("Gauss-Lobatto points are the textbook's") {
  CHECK(gauss_lobatto_points(2)[1] == 1);
  CHECK(gauss_lobatto_points(3)[1] == doctest::Approx(0.5).epsilon(1e-15));
  CHECK(gauss_lobatto_points(4)[1] == doctest::Approx((1 - std::sqrt(1.0 / 5)) / 2).epsilon(1e-14));
  CHECK(gauss_lobatto_points(5)[1] == doctest::Approx((1 - std::sqrt(3.0 / 7)) / 2).epsilon(1e-14));
}

TEST_CASE("a Lagrange basis is nodal, sums to one and reproduces polynomials of its degree") {
  for (const NodeFamily family : {NodeFamily::equispaced, NodeFamily::gauss_lobatto})
    for (const CellShape shape : all_cell_shapes)
      for (int degree = 1; degree <= 4; ++degree) {
        CAPTURE(name(shape));
        CAPTURE(degree);
        const LagrangeBasis basis(shape, degree, family);
        CHECK(basis.size() == lattice_size(shape, degree));
        const Eigen::MatrixXd identity = basis.values(basis.nodes());
        CHECK((identity - Eigen::MatrixXd::Identity(basis.size(), basis.size())).cwiseAbs().maxCoeff() < 1e-13);
        const Eigen::MatrixXd points = cell_quadrature(shape, 4).points;
        const Eigen::MatrixXd values = basis.values(points);
        const std::vector<Eigen::MatrixXd> gradients = basis.gradients(points);
        CHECK((values.rowwise().sum().array() - 1).abs().maxCoeff() < 1e-13);
        // u = (1 + x + 2y + 3z)^p and its gradient p (1 + x + 2y + 3z)^(p-1) (1, 2, 3).
        const Eigen::Vector3d slope(1, 2, 3);
        const auto linear = [&](const Eigen::MatrixXd& at) -> Eigen::ArrayXd {
          return 1 + (slope.head(at.rows()).transpose() * at).transpose().array();
        };
        const Eigen::VectorXd coefficients = linear(basis.nodes()).pow(degree);
        const double scale = std::pow(7, degree);
        CHECK((values * coefficients - linear(points).pow(degree).matrix()).cwiseAbs().maxCoeff() < 1e-13 * scale);
        for (int axis = 0; axis < dimension(shape); ++axis)
          CHECK((gradients[axis] * coefficients - (degree * slope[axis] * linear(points).pow(degree - 1)).matrix())
                    .cwiseAbs()
                    .maxCoeff() < 1e-12 * scale);
      }
}

TEST_CASE("lattice numbers and multi-indices are inverse to each other") {
  for (const CellShape shape : all_cell_shapes)
    for (int degree = 0; degree <= 8; ++degree) {
      const Lattice lattice(shape, degree);
      for (int a = 0; a < lattice.size(); ++a)
        CHECK(lattice.node(lattice.index(a)[0], lattice.index(a)[1], lattice.index(a)[2]) == a);
    }
}

TEST_CASE("facets lie opposite their vertex, or on their side, and their points lie on them") {
  for (const CellShape shape : all_cell_shapes) {
    const int d = dimension(shape);
    for (int f = 0; f < static_cast<int>(facets(shape).size()); ++f) {
      const Quadrature rule = facet_quadrature(shape, f, 3);
      for (int q = 0; q < rule.size(); ++q) {
        double distance = 0;
        if (is_tensor(shape))
          distance = rule.points(f / 2, q) - f % 2;
        else
          distance = f == d ? rule.points.col(q).sum() - 1 : rule.points(d - 1 - f, q);
        CHECK(std::abs(distance) < 1e-14);
      }
    }
  }
}
