#include "operators/forms/cells_at_points.hpp"

#include "mesh/lagrange_basis.hpp"
#include "mesh/quadrature.hpp"

namespace femcg::operators {

CellsAtPoints::CellsAtPoints(const mesh::Mesh& mesh, int quadrature)
    : mesh_(&mesh),
      d_(mesh.dimension()),
      tables_(mesh::LagrangeBasis(mesh.shape, mesh.order, mesh::NodeFamily::equispaced), quadrature),
      weights_(mesh::cell_quadrature(mesh.shape, quadrature).weights),
      scratch_(tables_.scratch_size()),
      nodes_(tables_.functions()),
      measures_(points()),
      jacobians_(d_ * d_ * points()),
      positions_(d_ * points()),
      of_lane_(3 * points(), 0.0) {}

void CellsAtPoints::move_to(std::int32_t first, int count, bool with_positions) {
  first_ = first;
  count_ = count;
  for (int axis = 0; axis < d_; ++axis) {
    for (int lane = 0; lane < cell_lanes; ++lane) {
      const auto nodes = mesh_->nodes(cell(lane));
      for (std::size_t a = 0; a < nodes.size(); ++a) nodes_[a][lane] = mesh_->point(nodes[a])[axis];
    }
    tables_.gradients(nodes_.data(), jacobians_.data() + axis * d_ * points(), scratch_.data());
    if (with_positions) tables_.values(nodes_.data(), positions_.data() + axis * points(), scratch_.data());
  }
}

template <int d>
void CellsAtPoints::compute_measures() {
  for (int q = 0; q < points(); ++q) {
    CellLanes c[d][d];
    measures_[q] = weights_[q] * cofactors(q, c);
  }
}

std::span<const CellLanes> CellsAtPoints::measures() {
  d_ == 2 ? compute_measures<2>() : compute_measures<3>();
  return measures_;
}

std::span<const double> CellsAtPoints::positions(int lane) {
  for (int q = 0; q < points(); ++q)
    for (int axis = 0; axis < d_; ++axis) of_lane_[3 * q + axis] = positions_[axis * points() + q][lane];
  return of_lane_;
}

bool DiffusionAtPoints::constant(std::int32_t first, int count) const {
  if (!form_->constant_diffusion) return false;
  for (int lane = 0; lane < count; ++lane)
    if (!form_->constant_diffusion(first + lane)) return false;
  return true;
}

void DiffusionAtPoints::move_to(CellsAtPoints& cells, bool constant) {
  for (int lane = 0; lane < cell_lanes; ++lane) {
    const std::int32_t cell = cells.cell(lane);
    if (constant) {
      const double value = *form_->constant_diffusion(cell);
      for (CellLanes& at_point : values_) at_point[lane] = value;
      continue;
    }
    form_->diffusion(cell, cells.positions(lane), of_cell_);
    for (std::size_t q = 0; q < of_cell_.size(); ++q) values_[q][lane] = of_cell_[q];
  }
}

}  // namespace femcg::operators
