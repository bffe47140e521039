#pragma once

#include <Eigen/Dense>
#include <cstdint>
#include <span>
#include <vector>

#include "mesh/dofs/function_space.hpp"
#include "mesh/geometry.hpp"

namespace femcg::solver {

/// What grad u at some points of the reference cell needs of a space; the same for all cells and threads.
struct GradientTables {
  /// points: dimension x count. The space must outlive this.
  GradientTables(const mesh::FunctionSpace& of, const Eigen::MatrixXd& points);

  const mesh::FunctionSpace* space;
  mesh::GeometryTables geometry;
  std::vector<Eigen::MatrixXd> slopes;  ///< of the basis along each reference coordinate: points x dofs of a cell
};

/// grad u = J^-T sum_a u_a grad phi_a at those points of one cell after the other. Keeps scratch memory: one a thread.
class CellGradient {
 public:
  /// The tables must outlive it.
  explicit CellGradient(const GradientTables& tables);

  void move_to(std::int32_t cell);
  int points() const { return geometry_.points(); }
  /// In space, count x 3.
  std::span<const double> points_in_space() const { return geometry_.all_points(); }
  /// Of u with these coefficients (dof_count): points x 3, row by row; 0 along z in the plane.
  void evaluate(std::span<const double> dofs, std::span<double> gradients);

 private:
  const GradientTables* tables_;
  mesh::CellGeometry geometry_;
  std::int32_t cell_ = 0;
  Eigen::VectorXd of_cell_;
  Eigen::MatrixXd slopes_;  ///< of u, points x d
};

}  // namespace femcg::solver
