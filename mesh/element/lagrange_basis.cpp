#include "mesh/element/lagrange_basis.hpp"

#include <Eigen/Dense>
#include <cmath>

#include "mesh/element/quadrature.hpp"

namespace femcg::mesh {

namespace {

int index_along(const Lattice& lattice, int node, int axis) { return lattice.index(node)[axis]; }

double factorial(int n) { return n < 2 ? 1.0 : n * factorial(n - 1); }

/// lambda_0 .. lambda_d of each point, (d + 1) x points.
Eigen::MatrixXd barycentric(const Eigen::MatrixXd& points) {
  Eigen::MatrixXd lambda(points.rows() + 1, points.cols());
  lambda.bottomRows(points.rows()) = points;
  lambda.row(0) = Eigen::RowVectorXd::Ones(points.cols()) - points.colwise().sum();
  return lambda;
}

/// Bernstein polynomials of one degree on a simplex, points x lattice: p!/alpha! lambda^alpha.
Eigen::MatrixXd bernstein(CellShape shape, int degree, const Eigen::MatrixXd& points) {
  const Lattice lattice(shape, degree);
  const Eigen::MatrixXd lambda = barycentric(points);
  Eigen::MatrixXd values(points.cols(), lattice.size());
  for (int a = 0; a < lattice.size(); ++a) {
    const auto& [i, j, k] = lattice.index(a);
    const int rest = degree - i - j - k;
    const double multinomial = factorial(degree) / (factorial(rest) * factorial(i) * factorial(j) * factorial(k));
    for (Eigen::Index q = 0; q < points.cols(); ++q) {
      double product =
          multinomial * std::pow(lambda(0, q), rest) * std::pow(lambda(1, q), i) * std::pow(lambda(2, q), j);
      if (lambda.rows() > 3) product *= std::pow(lambda(3, q), k);
      values(q, a) = product;
    }
  }
  return values;
}

/// Derivative of the Bernstein polynomials along reference axis `axis`:
/// d/dx_axis = d/dlambda_(axis+1) - d/dlambda_0 and d B^p_alpha / d lambda_i = p B^(p-1)_(alpha - e_i).
Eigen::MatrixXd bernstein_derivative(CellShape shape, int degree, int axis, const Eigen::MatrixXd& points) {
  const Lattice lattice(shape, degree);
  const Lattice lower_lattice(shape, degree - 1);
  const Eigen::MatrixXd lower = bernstein(shape, degree - 1, points);
  Eigen::MatrixXd derivative = Eigen::MatrixXd::Zero(points.cols(), lattice.size());
  for (int a = 0; a < lattice.size(); ++a) {
    const std::array<int, 3> alpha = lattice.index(a);
    if (alpha[0] + alpha[1] + alpha[2] < degree)
      derivative.col(a) -= degree * lower.col(lower_lattice.node(alpha[0], alpha[1], alpha[2]));
    if (alpha[axis] > 0) {
      std::array<int, 3> reduced = alpha;
      --reduced[axis];
      derivative.col(a) += degree * lower.col(lower_lattice.node(reduced[0], reduced[1], reduced[2]));
    }
  }
  return derivative;
}

Eigen::VectorXd line_nodes(int degree, NodeFamily family) {
  if (family == NodeFamily::gauss_lobatto) return gauss_lobatto_points(degree + 1);
  return Eigen::VectorXd::LinSpaced(degree + 1, 0.0, 1.0);
}

/// Barycentric coordinates of node alpha of a simplex lattice by recursion over its facets (Isaac 2020, eq. 2.2): the
/// weighted mean over i of the facet node without alpha_i; its weight is the line node n - alpha_i of degree n.
std::vector<double> recursive_node(const std::vector<int>& alpha, NodeFamily family) {
  int n = 0;
  for (const int a : alpha) n += a;
  const Eigen::VectorXd line = n == 0 ? Eigen::VectorXd::Constant(1, 0.5) : line_nodes(n, family);
  if (alpha.size() == 2) return {line[alpha[0]], line[alpha[1]]};
  std::vector<double> node(alpha.size(), 0.0);
  double total = 0;
  for (std::size_t i = 0; i < alpha.size(); ++i) {
    const double weight = line[n - alpha[i]];
    if (weight == 0) continue;
    std::vector<int> rest = alpha;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    const std::vector<double> inner = recursive_node(rest, family);
    for (std::size_t j = 0, k = 0; j < alpha.size(); ++j)
      if (j != i) node[j] += weight * inner[k++];
    total += weight;
  }
  for (double& coordinate : node) coordinate /= total;
  return node;
}

}  // namespace
Eigen::MatrixXd line_values(const Eigen::VectorXd& nodes, const Eigen::VectorXd& points) {
  Eigen::MatrixXd values = Eigen::MatrixXd::Ones(points.size(), nodes.size());
  for (Eigen::Index q = 0; q < points.size(); ++q)
    for (Eigen::Index i = 0; i < nodes.size(); ++i)
      for (Eigen::Index j = 0; j < nodes.size(); ++j)
        if (j != i) values(q, i) *= (points[q] - nodes[j]) / (nodes[i] - nodes[j]);
  return values;
}

Eigen::MatrixXd line_derivatives(const Eigen::VectorXd& nodes, const Eigen::VectorXd& points) {
  Eigen::MatrixXd derivatives = Eigen::MatrixXd::Zero(points.size(), nodes.size());
  for (Eigen::Index q = 0; q < points.size(); ++q)
    for (Eigen::Index i = 0; i < nodes.size(); ++i)
      for (Eigen::Index m = 0; m < nodes.size(); ++m) {
        if (m == i) continue;
        double product = 1 / (nodes[i] - nodes[m]);
        for (Eigen::Index j = 0; j < nodes.size(); ++j)
          if (j != i && j != m) product *= (points[q] - nodes[j]) / (nodes[i] - nodes[j]);
        derivatives(q, i) += product;
      }
  return derivatives;
}

LagrangeBasis::LagrangeBasis(CellShape shape, int degree, NodeFamily family)
    : lattice_(shape, degree), line_nodes_(line_nodes(degree, family)) {
  const int d = dimension(shape);
  nodes_.resize(d, lattice_.size());
  for (int a = 0; a < lattice_.size(); ++a) {
    const std::array<int, 3>& alpha = lattice_.index(a);
    if (is_tensor(shape)) {
      for (int axis = 0; axis < d; ++axis) nodes_(axis, a) = line_nodes_[alpha[axis]];
    } else {
      std::vector<int> indices{degree - alpha[0] - alpha[1] - alpha[2], alpha[0], alpha[1]};
      if (d == 3) indices.push_back(alpha[2]);
      const std::vector<double> lambda = recursive_node(indices, family);
      for (int axis = 0; axis < d; ++axis) nodes_(axis, a) = lambda[axis + 1];
    }
  }
  if (!is_tensor(shape)) coefficients_ = bernstein(shape, degree, nodes_).fullPivLu().inverse();
}

Eigen::MatrixXd LagrangeBasis::values(const Eigen::MatrixXd& points) const {
  if (!is_tensor(shape())) return bernstein(shape(), degree(), points) * coefficients_;
  Eigen::MatrixXd values = Eigen::MatrixXd::Ones(points.cols(), size());
  for (Eigen::Index axis = 0; axis < points.rows(); ++axis) {
    const Eigen::MatrixXd line = line_values(line_nodes_, points.row(axis).transpose());
    for (int a = 0; a < size(); ++a)
      values.col(a).array() *= line.col(index_along(lattice_, a, static_cast<int>(axis))).array();
  }
  return values;
}

std::vector<Eigen::MatrixXd> LagrangeBasis::gradients(const Eigen::MatrixXd& points) const {
  const int d = dimension(shape());
  std::vector<Eigen::MatrixXd> gradients;
  for (int derived = 0; derived < d; ++derived) {
    if (!is_tensor(shape())) {
      gradients.push_back(bernstein_derivative(shape(), degree(), derived, points) * coefficients_);
      continue;
    }
    Eigen::MatrixXd gradient = Eigen::MatrixXd::Ones(points.cols(), size());
    for (int axis = 0; axis < d; ++axis) {
      const Eigen::VectorXd along = points.row(axis).transpose();
      const Eigen::MatrixXd line =
          axis == derived ? line_derivatives(line_nodes_, along) : line_values(line_nodes_, along);
      for (int a = 0; a < size(); ++a) gradient.col(a).array() *= line.col(index_along(lattice_, a, axis)).array();
    }
    gradients.push_back(std::move(gradient));
  }
  return gradients;
}

}  // namespace femcg::mesh
