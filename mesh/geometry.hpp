#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "mesh/element/reference_cell.hpp"
#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// Values and gradients of a mesh's geometric basis at a set of reference points.
struct GeometryTables {
  GeometryTables(const Mesh& mesh, const Eigen::MatrixXd& points);
  Eigen::MatrixXd values;                  ///< points x nodes
  std::vector<Eigen::MatrixXd> gradients;  ///< [reference axis]: points x nodes
};

/// Map x = sum_a X_a psi_a(xi) of one cell at the points of the tables. Has scratch memory: one per thread.
class CellGeometry {
 public:
  explicit CellGeometry(const GeometryTables& tables);

  void move_to(const Mesh& mesh, std::int32_t cell);
  int points() const { return points_; }
  /// x at point q.
  const double* point(int q) const { return positions_.data() + 3 * q; }
  /// All points, [points][3] (z = 0 in 2D).
  std::span<const double> all_points() const { return positions_; }
  /// dx_i / dxi_j at point q, [i][j].
  const double* jacobian(int q) const { return jacobians_.data() + q * d_ * d_; }
  double determinant(int q) const { return determinants_[q]; }
  /// J^-1 at point q, row by row.
  void inverse(int q, double* inverse) const;

 private:
  template <int d>
  void move_to_nodes();

  int d_, points_, nodes_;
  std::vector<double> tables_;       ///< [nodes][value and derivatives][points, padded to whole registers]
  std::vector<double> coordinates_;  ///< coordinates of the cell's nodes
  std::vector<double> positions_, jacobians_, determinants_;
};

/// Least and greatest coordinates of some nodes along each axis; 0 along z in 2D.
struct Extent {
  std::array<double, 3> low{}, high{};

  double along(int axis) const { return high[axis] - low[axis]; }
  double largest() const { return std::max({along(0), along(1), along(2)}); }
  double largest_coordinate() const {
    double largest = 0;
    for (int axis = 0; axis < 3; ++axis) largest = std::max({largest, std::abs(low[axis]), std::abs(high[axis])});
    return largest;
  }
};

/// Extent of all nodes of a mesh, or of the nodes of one cell.
Extent extent_of(const Mesh& mesh);
Extent extent_of(const Mesh& mesh, std::int32_t cell);

/// Mean of a cell's vertices.
std::array<double, 3> cell_centre(const Mesh& mesh, std::int32_t cell);

}  // namespace femcg::mesh
