#include "mesh/locate.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/reference_cell.hpp"
#include "mesh/geometry.hpp"

namespace femcg::mesh {

namespace {

constexpr double least_margin = 1e-9;
constexpr double epsilon = std::numeric_limits<double>::epsilon();

bool inside(CellShape shape, const Eigen::VectorXd& coordinates, double margin) {
  if (coordinates.minCoeff() < -margin) return false;
  return is_tensor(shape) ? coordinates.maxCoeff() <= 1 + margin : coordinates.sum() <= 1 + margin;
}

/// Whether the point is in the box of the cell's nodes, widened by half its size for curved cells, and by the rounding
/// of its coordinates.
bool near(const Mesh& mesh, std::int32_t cell, const std::array<double, 3>& point) {
  const Extent extent = extent_of(mesh, cell);
  for (int i = 0; i < mesh.dimension(); ++i) {
    const double low = extent.low[i], high = extent.high[i];
    const double slack =
        (mesh.order > 1 ? 0.5 : least_margin) * (high - low) + 4 * epsilon * std::max(std::abs(low), std::abs(high));
    if (point[i] < low - slack || point[i] > high + slack) return false;
  }
  return true;
}

/// Newton's method for the reference coordinates. Nothing where the point is not in the cell: to 1e-9 of it, or to the
/// rounding of the nodes' coordinates, which in a small cell far from the origin is more.
std::optional<Eigen::VectorXd> invert(const Mesh& mesh, const LagrangeBasis& basis, std::int32_t cell,
                                      const std::array<double, 3>& point) {
  const int d = mesh.dimension();
  const auto nodes = mesh.nodes(cell);
  // From the first node on: differences of neighbours are exact, or nearly so.
  const Eigen::VectorXd origin = Eigen::Map<const Eigen::VectorXd>(mesh.point(nodes[0]).data(), d);
  Eigen::MatrixXd positions(d, basis.size());
  for (int a = 0; a < basis.size(); ++a)
    positions.col(a) = Eigen::Map<const Eigen::VectorXd>(mesh.point(nodes[a]).data(), d) - origin;
  const Eigen::VectorXd target = Eigen::Map<const Eigen::VectorXd>(point.data(), d) - origin;
  const double extent = positions.cwiseAbs().maxCoeff(), distance = origin.cwiseAbs().maxCoeff() + extent;
  Eigen::VectorXd coordinates = Eigen::VectorXd::Constant(d, is_tensor(mesh.shape) ? 0.5 : 1.0 / (d + 1));
  for (int step = 0; step < 50; ++step) {
    const Eigen::VectorXd residual = target - positions * basis.values(coordinates).transpose();
    Eigen::MatrixXd jacobian(d, d);
    const std::vector<Eigen::MatrixXd> gradients = basis.gradients(coordinates);
    for (int j = 0; j < d; ++j) jacobian.col(j) = positions * gradients[j].transpose();
    const Eigen::MatrixXd inverse = jacobian.fullPivLu().inverse();
    const Eigen::VectorXd change = inverse * residual;
    coordinates += change;
    if (!coordinates.allFinite() || coordinates.cwiseAbs().maxCoeff() > 10) return std::nullopt;
    // What a rounding of positions, each by epsilon times its size, changes in the coordinates.
    const double amplification = 4 * epsilon * basis.size() * inverse.cwiseAbs().rowwise().sum().maxCoeff();
    if (change.cwiseAbs().maxCoeff() > std::max(1e-13, amplification * extent)) continue;
    const double margin = std::max(least_margin, amplification * distance);
    return inside(mesh.shape, coordinates, margin) ? std::optional(coordinates) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Location> locate(const Mesh& mesh, const std::array<double, 3>& point) {
  const LagrangeBasis basis(mesh.shape, mesh.order, NodeFamily::equispaced);
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    if (!near(mesh, cell, point)) continue;
    const std::optional<Eigen::VectorXd> coordinates = invert(mesh, basis, cell, point);
    if (!coordinates) continue;
    Location found{cell, {}};
    std::copy(coordinates->begin(), coordinates->end(), found.coordinates.begin());
    return found;
  }
  return std::nullopt;
}

}  // namespace femcg::mesh
