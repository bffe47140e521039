#include "mesh/locate.hpp"

#include <algorithm>
#include <limits>

#include "mesh/reference_cell.hpp"

namespace femcg::mesh {

namespace {

constexpr double margin = 1e-9;

bool inside(CellShape shape, const Eigen::VectorXd& coordinates) {
  if (coordinates.minCoeff() < -margin) return false;
  return is_tensor(shape) ? coordinates.maxCoeff() <= 1 + margin : coordinates.sum() <= 1 + margin;
}

/// Whether the point is in the box of the cell's nodes, widened by half its size for curved cells.
bool near(const Mesh& mesh, std::int32_t cell, const std::array<double, 3>& point) {
  for (int i = 0; i < mesh.dimension(); ++i) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const std::int32_t node : mesh.nodes(cell)) {
      low = std::min(low, mesh.point(node)[i]);
      high = std::max(high, mesh.point(node)[i]);
    }
    const double slack = (mesh.order > 1 ? 0.5 : margin) * (high - low);
    if (point[i] < low - slack || point[i] > high + slack) return false;
  }
  return true;
}

std::optional<Eigen::VectorXd> invert(const Mesh& mesh, const LagrangeBasis& basis, std::int32_t cell,
                                      const std::array<double, 3>& point) {
  const int d = mesh.dimension();
  const auto nodes = mesh.nodes(cell);
  Eigen::MatrixXd positions(d, basis.size());
  for (int a = 0; a < basis.size(); ++a)
    for (int i = 0; i < d; ++i) positions(i, a) = mesh.point(nodes[a])[i];
  const Eigen::VectorXd target = Eigen::Map<const Eigen::VectorXd>(point.data(), d);
  Eigen::VectorXd coordinates = Eigen::VectorXd::Constant(d, is_tensor(mesh.shape) ? 0.5 : 1.0 / (d + 1));
  for (int step = 0; step < 50; ++step) {
    const Eigen::VectorXd residual = target - positions * basis.values(coordinates).transpose();
    Eigen::MatrixXd jacobian(d, d);
    const std::vector<Eigen::MatrixXd> gradients = basis.gradients(coordinates);
    for (int j = 0; j < d; ++j) jacobian.col(j) = positions * gradients[j].transpose();
    const Eigen::VectorXd change = jacobian.fullPivLu().solve(residual);
    coordinates += change;
    if (!coordinates.allFinite() || coordinates.cwiseAbs().maxCoeff() > 10) return std::nullopt;
    if (change.cwiseAbs().maxCoeff() < 1e-13) return coordinates;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Location> locate(const Mesh& mesh, const std::array<double, 3>& point) {
  const LagrangeBasis basis(mesh.shape, mesh.order, NodeFamily::equispaced);
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    if (!near(mesh, cell, point)) continue;
    const std::optional<Eigen::VectorXd> coordinates = invert(mesh, basis, cell, point);
    if (coordinates && inside(mesh.shape, *coordinates)) return Location{cell, *coordinates};
  }
  return std::nullopt;
}

}  // namespace femcg::mesh
