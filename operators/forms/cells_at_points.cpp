#include "operators/forms/cells_at_points.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"

namespace femcg::operators {

CellsAtPoints::CellsAtPoints(const mesh::Mesh& mesh, int quadrature)
    : mesh_(&mesh),
      d_(mesh.dimension()),
      shape_(mesh),
      tables_(mesh::LagrangeBasis(mesh.shape, mesh.order, mesh::NodeFamily::equispaced), quadrature),
      points_(mesh::cell_quadrature(mesh.shape, quadrature).points),
      weights_(mesh::cell_quadrature(mesh.shape, quadrature).weights),
      scratch_(tables_.scratch_size()),
      measures_(points()),
      of_cell_(static_cast<std::size_t>(d_) * tables_.functions()),
      nodes_(d_ * tables_.functions()),
      jacobians_(d_ * d_ * points()),
      positions_(d_ * points()),
      of_lane_(3 * points(), 0.0) {}

void CellsAtPoints::move_to(std::int32_t first, int count, bool with_positions) {
  first_ = first;
  count_ = count;
  gather_nodes();
  affine_ = !mesh_->axisymmetric && are_affine();
  for (int axis = 0; axis < d_; ++axis) {
    const CellLanes* nodes = nodes_.data() + axis * tables_.functions();
    CellLanes *jacobian = jacobians_.data() + axis * d_ * points(), *positions = positions_.data() + axis * points();
    if (affine_) {
      const CellLanes origin = nodes[shape_.corners()[0]];
      for (int along = 0; along < d_; ++along) jacobian[along * points()] = nodes[shape_.corners()[along + 1]] - origin;
      for (int q = 0; with_positions && q < points(); ++q) {
        positions[q] = origin;
        for (int along = 0; along < d_; ++along) positions[q] += points_(along, q) * jacobian[along * points()];
      }
      continue;
    }
    tables_.gradients(nodes, jacobian, scratch_.data());
    if (with_positions || mesh_->axisymmetric) tables_.values(nodes, positions, scratch_.data());
  }
}

void CellsAtPoints::gather_nodes() {
  const int count = mesh_->nodes_per_cell();
  for (int lane = 0; lane < cell_lanes; ++lane) {
    mesh_->write_points(cell(lane), of_cell_.data());
    for (int a = 0; a < count; ++a)
      for (int axis = 0; axis < d_; ++axis)
        nodes_[static_cast<std::size_t>(axis * count + a)][lane] = of_cell_[static_cast<std::size_t>(a * d_ + axis)];
  }
}

bool CellsAtPoints::are_affine() const {
  constexpr double rounding = 4 * std::numeric_limits<double>::epsilon();  // of nodes, relative to their coordinates
  for (int axis = 0; axis < d_ && !shape_.others().empty(); ++axis) {
    const CellLanes* nodes = nodes_.data() + axis * tables_.functions();
    const CellLanes origin = nodes[shape_.corners()[0]];
    for (std::size_t k = 0; k < shape_.others().size(); ++k) {
      CellLanes expected = origin;
      for (int along = 0; along < d_; ++along)
        expected += shape_.positions()[k * d_ + along] * (nodes[shape_.corners()[along + 1]] - origin);
      const CellLanes& found = nodes[shape_.others()[k]];
      for (int lane = 0; lane < cell_lanes; ++lane)
        if (std::abs(found[lane] - expected[lane]) > rounding * (std::abs(found[lane]) + std::abs(origin[lane])))
          return false;
    }
  }
  return true;
}

template <int d>
void CellsAtPoints::compute_measures() {
  CellLanes c[d][d], determinant;
  for (int q = 0; q < points(); ++q) {
    if (q == 0 || !affine_) determinant = cofactors(q, c);
    measures_[q] = weight(q) * determinant;
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
  if (!form_->diffusion.constant) return false;
  for (int lane = 0; lane < count; ++lane)
    if (!form_->diffusion.constant(first + lane)) return false;
  return true;
}

void DiffusionAtPoints::move_to(CellsAtPoints& cells, bool constant) {
  for (int lane = 0; lane < cell_lanes; ++lane) {
    const std::int32_t cell = cells.cell(lane);
    if (constant) {
      const DiffusionValue value = *form_->diffusion.constant(cell);
      for (std::size_t i = 0; i < values_.size(); ++i) values_[i][lane] = value.entries[i % form_->diffusion.entries];
      continue;
    }
    form_->diffusion.evaluate(cell, cells.positions(lane), of_cell_);
    for (std::size_t q = 0; q < of_cell_.size(); ++q) values_[q][lane] = of_cell_[q];
  }
}

FactorsAtPoints::FactorsAtPoints(const BilinearForm& form)
    : entries_(form.space->mesh().dimension() * (form.space->mesh().dimension() + 1) / 2),
      cells_(form.space->mesh(), form.quadrature),
      diffusion_(form, cells_.points()),
      factors_(static_cast<std::size_t>(entries_ * cells_.points())) {}

void FactorsAtPoints::move_to(std::int32_t first, int count) {
  const bool constant = diffusion_.constant(first, count);
  cells_.move_to(first, count, !constant);
  diffusion_.move_to(cells_, constant);
  constant_ = constant && cells_.affine();
  entries_ == 3 ? find_factors<2>() : find_factors<3>();
}

/// D = w C kappa C' / |J| with C = |J| J^-1.
template <int d>
void FactorsAtPoints::find_factors() {
  for (int q = 0; q < (constant_ ? 1 : cells_.points()); ++q) {
    CellLanes c[d][d];
    const CellLanes determinant = cells_.cofactors(q, c);
    CellLanes scale = cells_.weight(q) / determinant;
    CellLanes upper[upper_size(d)];
    if (diffusion_.is_tensor()) {
      transform_tensor<d>(&c[0][0], diffusion_[q], upper);
    } else {
      scale *= *diffusion_[q];
      CellLanes* entry = upper;
      for (int a = 0; a < d; ++a)
        for (int b = a; b < d; ++b, ++entry) {
          *entry = CellLanes{};
          for (int i = 0; i < d; ++i) *entry += c[a][i] * c[b][i];
        }
    }
    for (int entry = 0; entry < entries_; ++entry)
      factors_[static_cast<std::size_t>(entry * cells_.points() + q)] = scale * upper[entry];
  }
  for (int entry = 0; constant_ && entry < entries_; ++entry) {
    CellLanes* const of_points = factors_.data() + std::ptrdiff_t{entry} * cells_.points();
    for (int q = 1; q < cells_.points(); ++q) of_points[q] = cells_.weights()[q] / cells_.weights()[0] * of_points[0];
  }
}

/// True if a symmetric d x d matrix, its upper triangle row by row, is diagonal up to rounding of the nodes.
bool is_diagonal(std::span<const double> upper, int d) {
  constexpr double rounding = 1e-12;
  const auto at = [&](int i, int j) { return std::abs(upper[upper_index(i, j, d)]); };
  for (int i = 0; i < d; ++i)
    for (int j = i + 1; j < d; ++j)
      if (at(i, j) > rounding * std::min(at(i, i), at(j, j))) return false;
  return true;
}

bool has_diagonal_factors(const BilinearForm& form) {
  const int d = form.space->mesh().dimension();
  std::atomic<bool> all_are = true;
  for_factors(form, [&](const FactorsAtPoints& at, std::int32_t, int count) {
    std::vector<double> upper(static_cast<std::size_t>(at.entries()));
    for (int q = 0; q < (at.constant() ? 1 : at.points()); ++q)
      for (int lane = 0; lane < count; ++lane) {
        for (int e = 0; e < at.entries(); ++e) upper[e] = at.factors()[e * at.points() + q][lane];
        if (!is_diagonal(upper, d)) all_are.store(false, std::memory_order_relaxed);
      }
  });
  return all_are;
}

}  // namespace femcg::operators
