#pragma once

#include <Eigen/Dense>
#include <vector>

#include "mesh/base/vector_register.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "operators/backend/threads/simd.hpp"

namespace femcg::operators {

/// Cells that are worked on at once, one a lane of a register.
constexpr int cell_lanes = mesh::register_bytes / static_cast<int>(sizeof(double));
/// A number of each of them.
using CellLanes = Pack<double, cell_lanes>;
/// Groups of so many cells, of which the last may have fewer.
constexpr std::int32_t lane_groups(std::int32_t cells) { return cells / cell_lanes + (cells % cell_lanes > 0 ? 1 : 0); }

/// A small matrix, row by row.
struct Table {
  Table() = default;
  explicit Table(const Eigen::MatrixXd& from);
  Table transposed() const;

  int rows = 0, columns = 0;
  std::vector<double> entries;
};

/// Between a Lagrange basis and the points of a quadrature, for a few cells at once: on tensor cells by sum
/// factorisation (Orszag 1980), line by line of nodes and points, on simplices by the tables of all points.
class PointTables {
 public:
  PointTables(const mesh::LagrangeBasis& basis, int quadrature);

  int functions() const { return functions_; }
  int points() const { return points_; }
  /// Numbers that the functions below need beside what they are given.
  int scratch_size() const;

  /// At the points, from the functions' coefficients.
  void values(const CellLanes* of, CellLanes* at, CellLanes* scratch) const;
  /// The derivatives along each reference axis at the points, axis by axis.
  void gradients(const CellLanes* of, CellLanes* at, CellLanes* scratch) const;
  /// The sums over points of each function times a number.
  void test_values(const CellLanes* at, CellLanes* of, CellLanes* scratch) const;
  /// The sums over points of each function's gradient times a vector, given axis by axis.
  void test_gradients(const CellLanes* at, CellLanes* of, CellLanes* scratch) const;

 private:
  /// `points` are those of the line for tensor cells.
  PointTables(const mesh::LagrangeBasis& basis, const Eigen::MatrixXd& points);

  int d_;
  bool tensor_;
  int functions_, points_ = 0;
  Table values_, transposed_values_;               ///< on the line for tensor cells
  std::vector<Table> slopes_, transposed_slopes_;  ///< likewise; of simplices one for each axis
};

/// The sums over points of g' D g for each function, g its gradient and D symmetric: the diagonal of B' D B, by the
/// squares and products of the functions' derivatives instead of these themselves.
class SquaredGradients {
 public:
  SquaredGradients(const mesh::LagrangeBasis& basis, int quadrature);

  int scratch_size() const;
  /// D at the points, entry by entry of the upper triangle row by row (2D: 00 01 11; 3D: 00 01 02 11 12 22).
  void sum(const CellLanes* at, CellLanes* of, CellLanes* scratch) const;

 private:
  int d_;
  bool tensor_;
  int points_;
  /// Of tensor cells, on the line: v v, v v', twice that, and v' v' of each function.
  Table mass_, mixed_, twice_mixed_, stiffness_;
  std::vector<Table> entries_;  ///< of simplices, for each entry of D, those off its diagonal twice
};

}  // namespace femcg::operators
