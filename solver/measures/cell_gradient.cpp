#include "solver/measures/cell_gradient.hpp"

#include <Eigen/Dense>

#include "mesh/element/lagrange_basis.hpp"

namespace femcg::solver {

GradientTables::GradientTables(const mesh::FunctionSpace& of, const Eigen::MatrixXd& points)
    : space(&of), geometry(of.mesh(), points), slopes(of.basis().gradients(points)) {}

CellGradient::CellGradient(const GradientTables& tables)
    : tables_(&tables),
      geometry_(tables.geometry),
      of_cell_(tables.space->dofs_per_cell()),
      slopes_(geometry_.points(), static_cast<Eigen::Index>(tables.slopes.size())) {}

void CellGradient::move_to(std::int32_t cell) {
  cell_ = cell;
  geometry_.move_to(tables_->space->mesh(), cell);
}

void CellGradient::evaluate(std::span<const double> dofs, std::span<double> gradients) {
  const auto of_cell = tables_->space->dofs(cell_);
  for (std::size_t a = 0; a < of_cell.size(); ++a) of_cell_[static_cast<Eigen::Index>(a)] = dofs[of_cell[a]];
  const auto d = static_cast<int>(tables_->slopes.size());
  for (int axis = 0; axis < d; ++axis) slopes_.col(axis).noalias() = tables_->slopes[axis] * of_cell_;
  for (int q = 0; q < points(); ++q) {
    double inverse[9];
    geometry_.inverse(q, inverse);
    for (int i = 0; i < 3; ++i) {
      double& slope = gradients[3 * q + i] = 0;
      for (int axis = 0; axis < d && i < d; ++axis) slope += inverse[axis * d + i] * slopes_(q, axis);
    }
  }
}

}  // namespace femcg::solver
