#include "operators/cellwise/matrix_free/box_modes.hpp"

#include <Eigen/Dense>
#include <algorithm>

#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"

namespace femcg::operators {

BoxModes box_modes(int nodes, int quadrature, int sign) {
  const mesh::Quadrature gauss = mesh::gauss_line(quadrature);
  const Eigen::VectorXd points = gauss.points.row(0).transpose(), lobatto = mesh::gauss_lobatto_points(nodes);
  const Eigen::MatrixXd values = mesh::line_values(lobatto, points), slopes = mesh::line_derivatives(lobatto, points);
  const Eigen::MatrixXd mass = values.transpose() * gauss.weights.asDiagonal() * values,
                        stiffness = slopes.transpose() * gauss.weights.asDiagonal() * slopes;
  const int count = sign > 0 ? nodes - nodes / 2 : nodes / 2;
  Eigen::MatrixXd halves = Eigen::MatrixXd::Zero(nodes, count);  // of the nodes, mirrored
  for (int j = 0; j < count; ++j) {
    halves(j, j) = 1;
    halves(nodes - 1 - j, j) = j == nodes - 1 - j ? 1 : sign;
  }
  const Eigen::GeneralizedSelfAdjointEigenSolver<Eigen::MatrixXd> modes(halves.transpose() * stiffness * halves,
                                                                        halves.transpose() * mass * halves);
  const Eigen::MatrixXd w = modes.eigenvectors().transpose() * halves.transpose() * mass;
  BoxModes made;
  for (int m = 0; m < count; ++m) {
    made.lambda.push_back(std::max(modes.eigenvalues()[m], 0.0));
    for (int j = 0; j < count; ++j) made.weights.push_back(w(m, j));
  }
  return made;
}

}  // namespace femcg::operators
