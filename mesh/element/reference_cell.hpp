#pragma once

#include <array>
#include <vector>

#include "mesh/element/cell_shape.hpp"

namespace femcg::mesh {

/// A vertex, edge, face or the interior of a reference cell.
struct SubEntity {
  int dimension;              ///< 0 vertex, 1 edge, 2 face, 3 interior of a 3D cell
  std::vector<int> vertices;  ///< local vertex numbers; of a quadrilateral face in lexicographic order
};

/// Integer lattice that numbers the Lagrange nodes and dofs of one degree: multi-indices (i, j, k), i fastest, of 0..p
/// each on tensor cells and with i + j + k <= p on simplices. Vertices are numbered likewise: local vertex v of a
/// tensor cell is at (v & 1, v >> 1 & 1, v >> 2), of a simplex at the origin (0) and the unit points (1, 2, 3).
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

/// Edges and faces (3D) of a reference cell, each with its vertices.
const std::vector<SubEntity>& edges(CellShape shape);
const std::vector<SubEntity>& faces(CellShape shape);  ///< 2D: the cell itself
/// Facets: edges in 2D, faces in 3D. Tensor cells: left, right (x = 0, 1), bottom, top (y), back, front (z). Simplices:
/// facet f lies opposite vertex d - f, so the first facets lie on the coordinate planes, last coordinate = 0 first.
const std::vector<SubEntity>& facets(CellShape shape);
int vertex_count(CellShape shape);

/// Positions of the Lagrange nodes: equally spaced (geometry, output), or Gauss-Lobatto points on edges and their
/// recursive interpolation inside simplices (Isaac 2020), which keeps the basis well conditioned (dofs).
enum class NodeFamily { equispaced, gauss_lobatto };

}  // namespace femcg::mesh
