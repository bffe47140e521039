#include "mesh/geometry.hpp"

namespace femcg::mesh {

GeometryTables::GeometryTables(const Mesh& mesh, const Eigen::MatrixXd& points) {
  const LagrangeBasis basis(mesh.shape, mesh.order, NodeFamily::equispaced);
  values = basis.values(points);
  gradients = basis.gradients(points);
}

CellGeometry::CellGeometry(const GeometryTables& tables)
    : tables_(&tables),
      d_(static_cast<int>(tables.gradients.size())),
      points_(static_cast<int>(tables.values.rows())),
      positions_(3 * points_, 0.0),
      jacobians_(points_ * d_ * d_),
      determinants_(points_),
      nodes_(tables.values.cols(), d_),
      product_(points_, d_) {}

void CellGeometry::move_to(const Mesh& mesh, std::int32_t cell) {
  const auto nodes = mesh.nodes(cell);
  for (std::size_t a = 0; a < nodes.size(); ++a)
    for (int i = 0; i < d_; ++i) nodes_(static_cast<Eigen::Index>(a), i) = mesh.point(nodes[a])[i];
  product_.noalias() = tables_->values * nodes_;
  for (int q = 0; q < points_; ++q)
    for (int i = 0; i < d_; ++i) positions_[3 * q + i] = product_(q, i);
  for (int j = 0; j < d_; ++j) {
    product_.noalias() = tables_->gradients[j] * nodes_;
    for (int q = 0; q < points_; ++q)
      for (int i = 0; i < d_; ++i) jacobians_[(q * d_ + i) * d_ + j] = product_(q, i);
  }
  for (int q = 0; q < points_; ++q) {
    const double* m = jacobian(q);
    determinants_[q] = d_ == 2 ? m[0] * m[3] - m[1] * m[2]
                               : m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
                                     m[2] * (m[3] * m[7] - m[4] * m[6]);
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
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const int a = (j + 1) % 3, b = (j + 2) % 3, c = (i + 1) % 3, e = (i + 2) % 3;
      inverse[3 * i + j] = scale * (m[3 * a + c] * m[3 * b + e] - m[3 * a + e] * m[3 * b + c]);
    }
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
