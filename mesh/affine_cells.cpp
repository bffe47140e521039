#include "mesh/affine_cells.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "mesh/element/lagrange_basis.hpp"

namespace femcg::mesh {

namespace {

constexpr double of_coordinates = 1e-14;  // relative rounding of a node's coordinates
constexpr double of_cells = 1e-12;        // relative tolerance in units of the cell's size

}  // namespace

AffineCells::AffineCells(const Mesh& mesh) : mesh_(&mesh), d_(mesh.dimension()) {
  const LagrangeBasis basis(mesh.shape, mesh.order, NodeFamily::equispaced);
  const std::vector<int>& vertices = basis.lattice().vertex_nodes();
  corners_.push_back(vertices[0]);
  for (int axis = 0; axis < d_; ++axis)
    corners_.push_back(vertices[static_cast<std::size_t>(is_tensor(mesh.shape) ? 1 << axis : axis + 1)]);
  for (int node = 0; node < basis.size(); ++node) {
    if (std::ranges::find(corners_, node) != corners_.end()) continue;
    others_.push_back(node);
    for (int axis = 0; axis < d_; ++axis) positions_.push_back(basis.nodes()(axis, node));
  }
  all_are_ = others_.empty() || mesh.is_uniform_box();
}

bool AffineCells::operator()(std::int32_t cell) const {
  if (all_are_) return true;
  const int count = mesh_->nodes_per_cell();
  CellPoints points;
  mesh_->write_points(cell, points.data());
  for (int axis = 0; axis < d_; ++axis) {
    const auto at = [&](int node) { return points[static_cast<std::size_t>(node * d_ + axis)]; };
    double scale = 0, least = at(0), largest = least;
    for (int node = 0; node < count; ++node) {
      const double here = at(node);
      scale = std::max(scale, std::abs(here));
      least = std::min(least, here);
      largest = std::max(largest, here);
    }
    const double origin = at(corners_[0]), tolerance = of_coordinates * scale + of_cells * (largest - least);
    std::array<double, 3> edges{};
    for (int along = 0; along < d_; ++along) edges[along] = at(corners_[along + 1]) - origin;
    for (std::size_t k = 0; k < others_.size(); ++k) {
      double expected = origin;
      for (int along = 0; along < d_; ++along) expected += positions_[k * d_ + along] * edges[along];
      if (std::abs(expected - at(others_[k])) > tolerance) return false;
    }
  }
  return true;
}

std::int64_t AffineCells::count() const {
  if (all_are_) return mesh_->cell_count();
  std::int64_t affine = 0;
#pragma omp parallel for schedule(static) reduction(+ : affine)
  for (std::int32_t cell = 0; cell < mesh_->cell_count(); ++cell) affine += (*this)(cell);
  return affine;
}

bool AffineCells::all() const {
  std::atomic<bool> all = true;
  if (all_are_) return true;
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < mesh_->cell_count(); ++cell)
    if (all.load(std::memory_order_relaxed) && !(*this)(cell)) all.store(false, std::memory_order_relaxed);
  return all;
}

bool AffineCells::is_box(std::int32_t cell) const {
  if (!is_tensor(mesh_->shape)) return false;
  if (mesh_->is_uniform_box()) return true;
  CellPoints points;
  mesh_->write_points(cell, points.data());
  const auto at = [&](int corner) { return points.data() + corners_[corner] * d_; };
  double scale = 0, lengths[3] = {}, edges[3][3] = {};
  for (int along = 0; along < d_; ++along) {
    for (int axis = 0; axis < d_; ++axis) {
      scale = std::max({scale, std::abs(at(0)[axis]), std::abs(at(along + 1)[axis])});
      edges[along][axis] = at(along + 1)[axis] - at(0)[axis];
      lengths[along] += edges[along][axis] * edges[along][axis];
    }
    lengths[along] = std::sqrt(lengths[along]);
  }
  for (int i = 0; i < d_; ++i)
    for (int j = 0; j < i; ++j) {
      double product = 0;
      for (int axis = 0; axis < d_; ++axis) product += edges[i][axis] * edges[j][axis];
      if (std::abs(product) > of_cells * lengths[i] * lengths[j] + of_coordinates * scale * (lengths[i] + lengths[j]))
        return false;
    }
  return true;
}

}  // namespace femcg::mesh
