#pragma once

#include <Eigen/Dense>
#include <cstdint>
#include <span>
#include <vector>

#include "mesh/dofs/function_space.hpp"
#include "mesh/geometry.hpp"

namespace femcg::solver {

/// Tables of a space for evaluating grad u at some points of the reference cell; the same for all cells and threads.
struct GradientTables {
  /// `points`: dimension x count. The space must outlive this object.
  GradientTables(const mesh::FunctionSpace& of, const Eigen::MatrixXd& points);

  const mesh::FunctionSpace* space;
  mesh::GeometryTables geometry;
  std::vector<Eigen::MatrixXd> slopes;  ///< of the basis along each reference coordinate: points x dofs of a cell
};

/// grad u = J^-T sum_a u_a grad phi_a at these points of one cell after the other. Has scratch memory: one per thread.
class CellGradient {
 public:
  /// The tables must outlive this object.
  explicit CellGradient(const GradientTables& tables);

  void move_to(std::int32_t cell);
  int points() const { return geometry_.points(); }
  /// Points in space, [count][3].
  std::span<const double> points_in_space() const { return geometry_.all_points(); }
  /// Gradients of u with coefficients `dofs` [dof_count]: [points][3]; 0 along z in 2D.
  void evaluate(std::span<const double> dofs, std::span<double> gradients);

 private:
  const GradientTables* tables_;
  mesh::CellGeometry geometry_;
  std::int32_t cell_ = 0;
  Eigen::VectorXd of_cell_;
  Eigen::MatrixXd slopes_;  ///< of u, points x d
};

}  // namespace femcg::solver
