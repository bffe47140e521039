#pragma once

#include <Eigen/Dense>
#include <array>
#include <cstdint>
#include <vector>

#include "mesh/cell_shape.hpp"

namespace femcg::mesh {

/// A vertex, edge, face or the interior of a reference cell.
struct SubEntity {
  int dimension;              ///< 0 vertex, 1 edge, 2 face, 3 interior of a 3D cell
  std::vector<int> vertices;  ///< local vertex numbers; of a quadrilateral face in lexicographic order
};

/// The integer lattice that Lagrange nodes and dofs of one degree are numbered by: multi-indices (i, j, k), i fastest,
/// of 0..p each on tensor cells and with i + j + k <= p on simplices. Vertices are numbered likewise, so local vertex v
/// of a tensor cell is at (v & 1, v >> 1 & 1, v >> 2), and of a simplex at the origin (0) and the unit points (1, 2,
/// 3).
class Lattice {
 public:
  Lattice(CellShape shape, int degree);

  CellShape shape() const { return shape_; }
  int degree() const { return degree_; }
  int size() const { return static_cast<int>(indices_.size()); }
  const std::array<int, 3>& index(int node) const { return indices_[node]; }
  int node(int i, int j, int k = 0) const;
  /// The lattice node at each local vertex.
  const std::vector<int>& vertex_nodes() const { return vertex_nodes_; }

 private:
  CellShape shape_;
  int degree_;
  std::vector<std::array<int, 3>> indices_;
  std::vector<int> vertex_nodes_;
};

/// Topology of a reference cell: its edges, faces (3D), each with their vertices.
const std::vector<SubEntity>& edges(CellShape shape);
const std::vector<SubEntity>& faces(CellShape shape);  ///< 2D: the cell itself
/// Facets: edges in 2D, faces in 3D. Of tensor cells left, right (x = 0, 1), bottom, top (y), back, front (z).
/// Of simplices facet f lies opposite vertex d - f, so the first facets are those on the coordinate planes with the
/// last coordinate 0 first.
const std::vector<SubEntity>& facets(CellShape shape);
int vertex_count(CellShape shape);

/// Points and weights on a reference domain.
struct Quadrature {
  Eigen::MatrixXd points;   ///< dimension x count
  Eigen::VectorXd weights;  ///< sums to the measure of the reference domain
  int size() const { return static_cast<int>(weights.size()); }
};

/// Gauss-Legendre points and weights on [0, 1], exact to degree 2n - 1.
Quadrature gauss_line(int n);

/// The program's rule `n`: n^d Gauss points on tensor cells, on simplices a rule exact to degree 2(n - 1) with positive
/// weights and inner points (Xiao & Gimbutas 2010 style, or collapsed Gauss where none is tabulated). Throws
/// std::invalid_argument for n < 1 or n > 16.
Quadrature cell_quadrature(CellShape shape, int n);

/// The same rule on facet `facet` of the cell, its points given in the cell's reference coordinates and its weights for
/// the facet's own reference domain ([0,1], [0,1]^2, unit triangle).
Quadrature facet_quadrature(CellShape shape, int facet, int n);

/// d x (d-1) matrix of the map from the facet's reference domain to the cell's: x = origin + map * s.
Eigen::MatrixXd facet_tangents(CellShape shape, int facet);

/// Where the Lagrange nodes lie: equally spaced (geometry, output), or at Gauss-Lobatto points on edges and their
/// recursive interpolation inside simplices (Isaac 2020), which keeps the basis well conditioned (dofs).
enum class NodeFamily { equispaced, gauss_lobatto };

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
