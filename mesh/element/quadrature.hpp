#pragma once

#include <Eigen/Core>

#include "mesh/element/reference_cell.hpp"

namespace femcg::mesh {

/// Points and weights on a reference domain.
struct Quadrature {
  Eigen::MatrixXd points;   ///< dimension x count
  Eigen::VectorXd weights;  ///< sums to the measure of the reference domain
  int size() const { return static_cast<int>(weights.size()); }
};

/// Gauss-Legendre points and weights on [0, 1], exact to degree 2n - 1.
Quadrature gauss_line(int n);

/// Rule `n`: n^d Gauss points on tensor cells; on simplices a rule exact to degree 2(n - 1) with positive weights and
/// inner points (symmetric where tabulated, as those of Xiao & Gimbutas 2010, otherwise collapsed Gauss). Throws
/// std::invalid_argument for n < 1 or n > 16.
Quadrature cell_quadrature(CellShape shape, int n);

/// The same rule on one facet of the cell: points in the cell's reference coordinates, weights for the facet's own
/// reference domain ([0,1], [0,1]^2, unit triangle).
Quadrature facet_quadrature(CellShape shape, int facet, int n);

/// Matrix of the map from the facet's reference domain to the cell's, d x (d-1): x = origin + map * s.
Eigen::MatrixXd facet_tangents(CellShape shape, int facet);

}  // namespace femcg::mesh
