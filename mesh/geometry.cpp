#include "mesh/geometry.hpp"

#include <Eigen/Dense>
#include <algorithm>

#include "mesh/base/vector_register.hpp"
#include "mesh/element/lagrange_basis.hpp"

namespace femcg::mesh {

namespace {

constexpr int lanes = register_bytes / static_cast<int>(sizeof(double));  ///< points per vector register

}  // namespace

GeometryTables::GeometryTables(const Mesh& mesh, const Eigen::MatrixXd& points) {
  const LagrangeBasis basis(mesh.shape, mesh.order, NodeFamily::equispaced);
  values = basis.values(points);
  gradients = basis.gradients(points);
}

CellGeometry::CellGeometry(const GeometryTables& tables)
    : d_(static_cast<int>(tables.gradients.size())),
      points_(static_cast<int>(tables.values.rows())),
      nodes_(static_cast<int>(tables.values.cols())),
      coordinates_(nodes_ * d_),
      positions_(3 * points_, 0.0),
      jacobians_(points_ * d_ * d_),
      determinants_(points_) {
  const int padded = (points_ + lanes - 1) / lanes * lanes;
  tables_.assign(std::size_t(nodes_) * (1 + d_) * padded, 0.0);
  for (int a = 0; a < nodes_; ++a)
    for (int k = 0; k <= d_; ++k)
      for (int q = 0; q < points_; ++q)
        tables_[(std::size_t(a) * (1 + d_) + k) * padded + q] =
            k == 0 ? tables.values(q, a) : tables.gradients[k - 1](q, a);
}

void CellGeometry::move_to(const Mesh& mesh, std::int32_t cell) {
  mesh.write_points(cell, coordinates_.data());
  if (d_ == 2)
    move_to_nodes<2>();
  else
    move_to_nodes<3>();
}

template <int d>
void CellGeometry::move_to_nodes() {
  using Lanes [[gnu::vector_size(lanes * sizeof(double)), gnu::aligned(alignof(double))]] = double;
  const int padded = (points_ + lanes - 1) / lanes * lanes;
  for (int first = 0; first < points_; first += lanes) {
    Lanes x[d]{}, m[d][d]{};  // points in space; dx_i / dxi_j
    for (int a = 0; a < nodes_; ++a) {
      const double* at = coordinates_.data() + a * d;
      const auto table = [&](int k) {
        return *reinterpret_cast<const Lanes*>(tables_.data() + (std::size_t(a) * (1 + d) + k) * padded + first);
      };
      for (int i = 0; i < d; ++i) x[i] += table(0) * at[i];
      for (int j = 0; j < d; ++j)
        for (int i = 0; i < d; ++i) m[i][j] += table(1 + j) * at[i];
    }
    Lanes determinant{};
    if constexpr (d == 2)
      determinant = m[0][0] * m[1][1] - m[0][1] * m[1][0];
    else
      determinant = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
                    m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                    m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
    for (int l = 0; l < std::min(lanes, points_ - first); ++l) {
      const int q = first + l;
      for (int i = 0; i < d; ++i) {
        positions_[3 * q + i] = x[i][l];
        for (int j = 0; j < d; ++j) jacobians_[(q * d + i) * d + j] = m[i][j][l];
      }
      determinants_[q] = determinant[l];
    }
  }
}

void CellGeometry::inverse(int q, double* inverse) const {
  const double* m = jacobian(q);
  const double scale = 1 / determinants_[q];
  if (d_ == 2) {
    inverse[0] = scale * m[3];
    inverse[1] = -scale * m[1];
    inverse[2] = -scale * m[2];
    inverse[3] = scale * m[0];
    return;
  }
  inverse[0] = scale * (m[4] * m[8] - m[5] * m[7]);
  inverse[1] = scale * (m[2] * m[7] - m[1] * m[8]);
  inverse[2] = scale * (m[1] * m[5] - m[2] * m[4]);
  inverse[3] = scale * (m[5] * m[6] - m[3] * m[8]);
  inverse[4] = scale * (m[0] * m[8] - m[2] * m[6]);
  inverse[5] = scale * (m[2] * m[3] - m[0] * m[5]);
  inverse[6] = scale * (m[3] * m[7] - m[4] * m[6]);
  inverse[7] = scale * (m[1] * m[6] - m[0] * m[7]);
  inverse[8] = scale * (m[0] * m[4] - m[1] * m[3]);
}

Extent extent_of(const Mesh& mesh) {
  Extent extent;
  if (mesh.node_count() == 0) return extent;
  if (mesh.is_uniform_box()) return {mesh.point(0), mesh.point(mesh.node_count() - 1)};
  for (int axis = 0; axis < mesh.dimension(); ++axis) {
    double low = mesh.point(0)[axis], high = low;
#pragma omp parallel for schedule(static) reduction(min : low) reduction(max : high)
    for (std::int32_t node = 0; node < mesh.node_count(); ++node) {
      const double here = mesh.point(node)[axis];
      low = std::min(low, here);
      high = std::max(high, here);
    }
    extent.low[axis] = low;
    extent.high[axis] = high;
  }
  return extent;
}

Extent extent_of(const Mesh& mesh, std::int32_t cell) {
  const int d = mesh.dimension(), nodes = mesh.nodes_per_cell();
  CellPoints points;
  mesh.write_points(cell, points.data());
  Extent extent;
  for (int axis = 0; axis < d; ++axis) {
    extent.low[axis] = extent.high[axis] = points[axis];
    for (int node = 1; node < nodes; ++node) {
      extent.low[axis] = std::min(extent.low[axis], points[node * d + axis]);
      extent.high[axis] = std::max(extent.high[axis], points[node * d + axis]);
    }
  }
  return extent;
}

std::array<double, 3> cell_centre(const Mesh& mesh, std::int32_t cell) {
  std::array<double, 3> centre{};
  const std::vector<int> vertices = Lattice(mesh.shape, mesh.order).vertex_nodes();
  for (const int v : vertices)
    for (int i = 0; i < mesh.dimension(); ++i)
      centre[i] += mesh.point(mesh.nodes(cell)[v])[i] / static_cast<double>(vertices.size());
  return centre;
}

}  // namespace femcg::mesh
