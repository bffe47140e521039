#pragma once

#include <Eigen/Core>
#include <vector>

#include "mesh/element/reference_cell.hpp"

namespace femcg::mesh {

/// Lagrange basis on one reference cell.
class LagrangeBasis {
 public:
  LagrangeBasis(CellShape shape, int degree, NodeFamily family);

  const Lattice& lattice() const { return lattice_; }
  CellShape shape() const { return lattice_.shape(); }
  int degree() const { return lattice_.degree(); }
  int size() const { return lattice_.size(); }
  /// Reference coordinates of the nodes, dimension x size.
  const Eigen::MatrixXd& nodes() const { return nodes_; }
  /// Values of all basis functions, points x size.
  Eigen::MatrixXd values(const Eigen::MatrixXd& points) const;
  /// Derivatives along each reference coordinate, d matrices of points x size.
  std::vector<Eigen::MatrixXd> gradients(const Eigen::MatrixXd& points) const;

 private:
  Lattice lattice_;
  Eigen::VectorXd line_nodes_;
  Eigen::MatrixXd nodes_;
  Eigen::MatrixXd coefficients_;  ///< simplices: Bernstein coefficients of the basis, size x size
};

/// Lagrange polynomials on one set of distinct points of the line: values or derivatives, points x nodes.
Eigen::MatrixXd line_values(const Eigen::VectorXd& nodes, const Eigen::VectorXd& points);
Eigen::MatrixXd line_derivatives(const Eigen::VectorXd& nodes, const Eigen::VectorXd& points);
/// Gauss-Lobatto points on [0, 1], n >= 2.
Eigen::VectorXd gauss_lobatto_points(int n);

}  // namespace femcg::mesh
