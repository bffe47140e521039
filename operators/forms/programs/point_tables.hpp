#pragma once

#include <Eigen/Dense>
#include <vector>

#include "mesh/base/vector_register.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "operators/backend/threads/simd.hpp"

namespace femcg::operators {

/// Cells computed at a time, one a lane of a register.
constexpr int cell_lanes = mesh::register_bytes / static_cast<int>(sizeof(double));
/// A value for each of these cells.
using CellLanes = Pack<double, cell_lanes>;
/// Number of groups of cell_lanes cells; the last may have fewer.
constexpr std::int32_t lane_groups(std::int32_t cells) { return cells / cell_lanes + (cells % cell_lanes > 0 ? 1 : 0); }

/// A small matrix, row by row.
struct Table {
  Table() = default;
  explicit Table(const Eigen::MatrixXd& from);
  Table transposed() const;

  int rows = 0, columns = 0;
  std::vector<double> entries;
};

/// Maps between coefficients of a Lagrange basis and values at the points of a quadrature, for a few cells at a time:
/// on tensor cells by sum factorisation (Orszag 1980), on simplices by tables of all points.
class PointTables {
 public:
  PointTables(const mesh::LagrangeBasis& basis, int quadrature);

  int functions() const { return functions_; }
  int points() const { return points_; }
  /// Size of the scratch arrays of the functions below.
  int scratch_size() const;

  /// Values at the points, from the coefficients.
  void values(const CellLanes* of, CellLanes* at, CellLanes* scratch) const;
  /// Derivatives along each reference axis at the points, [axes][points], from the coefficients.
  void gradients(const CellLanes* of, CellLanes* at, CellLanes* scratch) const;
  /// For each basis function the sum over the points of its value times the given value.
  void test_values(const CellLanes* at, CellLanes* of, CellLanes* scratch) const;
  /// For each basis function the sum over the points of its gradient times the given vector, [axes][points].
  void test_gradients(const CellLanes* at, CellLanes* of, CellLanes* scratch) const;

 private:
  /// For tensor cells `points` are those of the line.
  PointTables(const mesh::LagrangeBasis& basis, const Eigen::MatrixXd& points);

  int d_;
  bool tensor_;
  int functions_, points_ = 0;
  Table values_, transposed_values_;               ///< for tensor cells on the line
  std::vector<Table> slopes_, transposed_slopes_;  ///< for tensor cells on the line; for simplices one per axis
};

/// For each basis function the sum over the points of g' D g, with g its gradient and D symmetric: the diagonal of B' D
/// B, by squares and products of derivatives.
class SquaredGradients {
 public:
  SquaredGradients(const mesh::LagrangeBasis& basis, int quadrature);

  int scratch_size() const;
  /// D at the points is [entries][points], entries of the upper triangle row by row (2D: 00 01 11; 3D: 00 01 02 11 12
  /// 22).
  void sum(const CellLanes* at, CellLanes* of, CellLanes* scratch) const;

 private:
  int d_;
  bool tensor_;
  int points_;
  /// For tensor cells, on the line: v v, v v', 2 v v' and v' v' of each basis function.
  Table mass_, mixed_, twice_mixed_, stiffness_;
  std::vector<Table> entries_;  ///< for simplices: for each entry of D, off-diagonal ones twice
};

}  // namespace femcg::operators
