#include "mesh/element/quadrature.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/reference_cell.hpp"

namespace femcg::mesh {

namespace {

/// Gauss-Jacobi rule on [0, 1] for the weight (1 - x)^a x^b: eigenvalues of the recurrence matrix (Golub & Welsch
/// 1969).
Quadrature gauss_jacobi(int n, int a, int b) {
  Eigen::MatrixXd recurrence = Eigen::MatrixXd::Zero(n, n);
  const double sum = a + b;
  for (int k = 0; k < n; ++k) {
    const double s = 2 * k + sum;
    recurrence(k, k) = k == 0 ? (b - a) / (sum + 2) : double(b * b - a * a) / (s * (s + 2));
    if (k == 0) continue;
    const double squared = k == 1 ? 4.0 * (1 + a) * (1 + b) / ((2 + sum) * (2 + sum) * (3 + sum))
                                  : 4.0 * k * (k + a) * (k + b) * (k + sum) / (s * s * (s + 1) * (s - 1));
    recurrence(k, k - 1) = recurrence(k - 1, k) = std::sqrt(squared);
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(recurrence);
  const double measure = std::tgamma(a + 1) * std::tgamma(b + 1) / std::tgamma(sum + 2);
  Quadrature rule;
  rule.points = (eigen.eigenvalues().transpose().array() + 1) / 2;
  rule.weights = measure * eigen.eigenvectors().row(0).transpose().array().square();
  return rule;
}

/// Gauss points on the cube collapsed to the simplex, exact to degree 2n - 1 (Stroud 1971).
Quadrature collapsed_gauss(int dimension, int n) {
  const Quadrature x = gauss_jacobi(n, 0, 0), y = gauss_jacobi(n, 1, 0), z = gauss_jacobi(dimension == 3 ? n : 1, 2, 0);
  Quadrature rule;
  rule.points.resize(dimension, n * n * z.size());
  rule.weights.resize(rule.points.cols());
  int q = 0;
  for (int k = 0; k < z.size(); ++k)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i, ++q) {
        const double t = dimension == 3 ? z.points(0, k) : 0, s = y.points(0, j) * (1 - t);
        rule.points(0, q) = x.points(0, i) * (1 - s - t);
        rule.points(1, q) = s;
        if (dimension == 3) rule.points(2, q) = t;
        rule.weights[q] = x.weights[i] * y.weights[j] * (dimension == 3 ? z.weights[k] : 1);
      }
  return rule;
}

/// Orbit of a point: all distinct permutations of its barycentric coordinates.
struct Orbit {
  double weight;               ///< as a fraction of the measure of the simplex
  std::vector<double> lambda;  ///< d + 1 barycentric coordinates
};

Quadrature expand(int dimension, std::vector<Orbit> orbits) {
  std::vector<std::pair<std::vector<double>, double>> points;
  for (Orbit& orbit : orbits) {
    std::sort(orbit.lambda.begin(), orbit.lambda.end());
    do points.emplace_back(orbit.lambda, orbit.weight);
    while (std::next_permutation(orbit.lambda.begin(), orbit.lambda.end()));
  }
  Quadrature rule;
  rule.points.resize(dimension, static_cast<Eigen::Index>(points.size()));
  rule.weights.resize(static_cast<Eigen::Index>(points.size()));
  for (Eigen::Index q = 0; q < rule.weights.size(); ++q) {
    for (int axis = 0; axis < dimension; ++axis) rule.points(axis, q) = points[q].first[axis];
    rule.weights[q] = points[q].second / (dimension == 2 ? 2 : 6);
  }
  return rule;
}

/// Orbits of (1, .., 1) / (d + 1), of (a, .., a, 1 - d a), of (a, a, 1/2 - a, 1/2 - a) and of (a, .., a, b, rest).
Orbit at_centre(int d, double weight) { return {weight, std::vector(d + 1, 1.0 / (d + 1))}; }
Orbit towards_vertex(int d, double weight, double a) {
  std::vector lambda(d + 1, a);
  lambda.back() = 1 - d * a;
  return {weight, lambda};
}
Orbit towards_edge(double weight, double a) { return {weight, {a, a, 0.5 - a, 0.5 - a}}; }
Orbit general(int d, double weight, double a, double b) {
  std::vector lambda(d + 1, a);
  lambda[d - 1] = b;
  lambda[d] = 1 - (d - 1) * a - b;
  return {weight, lambda};
}

/// Symmetric rules with positive weights and inner points, exact to degree 2(n - 1): the orbits of Strang & Fix 1973,
/// Dunavant 1985 (triangle), Walkington 2000, Keast 1986, Witherden & Vincent 2015 (tetrahedron), their numbers
/// recomputed to rounding from the moment equations. The last rules leave one number free: it is chosen to keep
/// farthest from zero weights and from the faces.
Quadrature triangle_rule(int n) {
  switch (n) {
    case 1:
      return expand(2, {at_centre(2, 1)});
    case 2:
      return expand(2, {towards_vertex(2, 1.0 / 3, 1.0 / 6)});
    case 3:
      return expand(2, {towards_vertex(2, 0.22338158967801167, 0.4459484909159649),
                        towards_vertex(2, 0.10995174365532169, 0.09157621350977062)});
    case 4:
      return expand(2, {towards_vertex(2, 0.11678627572636882, 0.24928674517091737),
                        towards_vertex(2, 0.050844906370205785, 0.06308901449150178),
                        general(2, 0.08285107561837934, 0.31035245103377995, 0.05314504984482122)});
    case 5:
      return expand(2, {at_centre(2, 0.1443156076777199), towards_vertex(2, 0.09509163426733164, 0.4592925882926768),
                        towards_vertex(2, 0.10321737053472102, 0.17056930775170712),
                        towards_vertex(2, 0.03245849762320206, 0.05054722831703067),
                        general(2, 0.027230314174419335, 0.008394777409896227, 0.26311282963478344)});
    default:
      return collapsed_gauss(2, n);
  }
}

Quadrature tetrahedron_rule(int n) {
  switch (n) {
    case 1:
      return expand(3, {at_centre(3, 1)});
    case 2:
      return expand(3, {towards_vertex(3, 0.25, 0.13819660112501053)});
    case 3:
      return expand(3, {towards_vertex(3, 0.07349304311636326, 0.09273525031089186),
                        towards_vertex(3, 0.11268792571801961, 0.31088591926330117),
                        towards_edge(0.042546020777078086, 0.045503704125645895)});
    case 4:
      return expand(3, {towards_vertex(3, 0.039922750258155684, 0.21460287125917904),
                        towards_vertex(3, 0.010077211055319253, 0.04067395853460692),
                        towards_vertex(3, 0.055357181543657034, 0.32233789014227504),
                        general(3, 0.048214285714289346, 0.0636610018750205, 0.26967233145831265)});
    case 5:
      return expand(3, {towards_vertex(3, 0.0054995082088175873, 0.037234616821089698),
                        towards_vertex(3, 0.023170666802863453, 0.097623903458580692),
                        towards_vertex(3, 0.039014153992464890, 0.31469565653744880),
                        towards_vertex(3, 0.056431197636328032, 0.18382895219241369),
                        towards_edge(0.035293406513283173, 0.062708595284225155),
                        general(3, 0.0072215666347221094, 0.021942059203240912, 0.23438286540453819),
                        general(3, 0.017093221228478317, 0.20481724342589730, 0.012332412562071443)});
    default:
      return collapsed_gauss(3, n);
  }
}

Quadrature simplex_quadrature(int dimension, int n) { return dimension == 2 ? triangle_rule(n) : tetrahedron_rule(n); }

}  // namespace

Quadrature gauss_line(int n) { return gauss_jacobi(n, 0, 0); }

Eigen::VectorXd gauss_lobatto_points(int n) {
  Eigen::VectorXd points(n);
  points[0] = 0;
  points[n - 1] = 1;
  // The inner points are the zeros of P'_(n-1): the Gauss-Jacobi points of weight x (1 - x).
  if (n > 2) points.segment(1, n - 2) = gauss_jacobi(n - 2, 1, 1).points.row(0).transpose();
  return points;
}

Quadrature cell_quadrature(CellShape shape, int n) {
  if (n < 1 || n > 16) throw std::invalid_argument("a quadrature has 1 to 16 points a direction");
  const int d = dimension(shape);
  if (!is_tensor(shape)) return simplex_quadrature(d, n);
  const Quadrature line = gauss_line(n);
  const int count = d == 2 ? n * n : n * n * n;
  Quadrature rule{Eigen::MatrixXd(d, count), Eigen::VectorXd::Ones(count)};
  for (int q = 0; q < count; ++q)
    for (int axis = 0, rest = q; axis < d; ++axis, rest /= n) {
      rule.points(axis, q) = line.points(0, rest % n);
      rule.weights[q] *= line.weights[rest % n];
    }
  return rule;
}

Eigen::MatrixXd facet_tangents(CellShape shape, int facet) {
  const LagrangeBasis corners(shape, 1, NodeFamily::equispaced);
  const SubEntity& entity = facets(shape)[facet];
  Eigen::MatrixXd tangents(dimension(shape), dimension(shape) - 1);
  for (int axis = 0; axis < entity.dimension; ++axis)
    tangents.col(axis) = corners.nodes().col(entity.vertices[axis + 1]) - corners.nodes().col(entity.vertices[0]);
  return tangents;
}

Quadrature facet_quadrature(CellShape shape, int facet, int n) {
  const bool line = dimension(shape) == 2;
  Quadrature rule =
      line ? gauss_line(n) : cell_quadrature(is_tensor(shape) ? CellShape::quadrilateral : CellShape::triangle, n);
  const LagrangeBasis corners(shape, 1, NodeFamily::equispaced);
  const Eigen::VectorXd origin = corners.nodes().col(facets(shape)[facet].vertices[0]);
  rule.points = ((facet_tangents(shape, facet) * rule.points).colwise() + origin).eval();
  return rule;
}

}  // namespace femcg::mesh
