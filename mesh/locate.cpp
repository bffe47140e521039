#include "mesh/locate.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

#include "mesh/boundary_surface.hpp"
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

/// True if the point is in the bounding box of the cell's nodes, widened by half its size for curved cells and by the
/// rounding of its coordinates.
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

/// Reference coordinates of a point, and the margin by which they may leave the cell for a point that counts as inside:
/// 1e-9, or the rounding of the nodes' coordinates, which is more in a small cell far from the origin.
struct Inverted {
  Eigen::VectorXd coordinates;
  double margin;
};

/// Inverts the cell map by Newton's method. Empty if it does not converge, as for most points far outside.
std::optional<Inverted> invert(const Mesh& mesh, const LagrangeBasis& basis, std::int32_t cell,
                               const std::array<double, 3>& point) {
  const int d = mesh.dimension();
  const auto nodes = mesh.nodes(cell);
  // Relative to the first node: differences of close coordinates are almost exact.
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
    // Change of the reference coordinates due to rounding of the positions, each by epsilon times its size.
    const double amplification = 4 * epsilon * basis.size() * inverse.cwiseAbs().rowwise().sum().maxCoeff();
    if (change.cwiseAbs().maxCoeff() > std::max(1e-13, amplification * extent)) continue;
    return Inverted{coordinates, std::max(least_margin, amplification * distance)};
  }
  return std::nullopt;
}

Location location(std::int32_t cell, const Eigen::VectorXd& coordinates, double distance) {
  Location found{cell, {}, distance};
  std::ranges::copy(coordinates, found.coordinates.begin());
  return found;
}

/// Reference coordinates of the cell's point near to coordinates outside of it.
Eigen::VectorXd moved_inside(CellShape shape, Eigen::VectorXd coordinates) {
  coordinates = coordinates.cwiseMax(0);
  if (is_tensor(shape)) return coordinates.cwiseMin(1);
  return coordinates.sum() > 1 ? Eigen::VectorXd(coordinates / coordinates.sum()) : coordinates;
}

/// Distance from `point` to the cell's point with the given reference coordinates.
double distance_between(const Mesh& mesh, const LagrangeBasis& basis, std::int32_t cell,
                        const Eigen::VectorXd& coordinates, const std::array<double, 3>& point) {
  const Eigen::RowVectorXd values = basis.values(coordinates);
  double square = 0;
  for (int i = 0; i < mesh.dimension(); ++i) {
    double x = 0;
    for (int a = 0; a < basis.size(); ++a) x += values[a] * (mesh.point(mesh.nodes(cell)[a])[i] - point[i]);
    square += x * x;
  }
  return std::sqrt(square);
}

}  // namespace

std::optional<Location> locate(const Mesh& mesh, const std::array<double, 3>& point) {
  const LagrangeBasis basis(mesh.shape, mesh.order, NodeFamily::equispaced);
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    if (!near(mesh, cell, point)) continue;
    const std::optional<Inverted> found = invert(mesh, basis, cell, point);
    if (found && inside(mesh.shape, found->coordinates, found->margin)) return location(cell, found->coordinates, 0);
  }
  return std::nullopt;
}

bool lies_within(const Mesh& mesh, std::int32_t cell, const std::array<double, 3>& point) {
  const LagrangeBasis basis(mesh.shape, mesh.order, NodeFamily::equispaced);
  const std::optional<Inverted> found = invert(mesh, basis, cell, point);
  return found && inside(mesh.shape, found->coordinates, -1e-3);
}

std::optional<Location> locate_on_surface(const Mesh& mesh, const std::array<double, 3>& point) {
  const std::vector<BoundaryFacet> facets = boundary_facets(mesh);
  std::vector<double> angles(facets.size(), 0);
  for (const FacetPair& pair : facet_pairs(mesh, facets))
    if (pair.angle < smooth_angle)
      for (const std::size_t f : {pair.first, pair.second}) angles[f] = std::max(angles[f], pair.angle);
  const FacetVertices vertices(mesh);
  const LagrangeBasis basis(mesh.shape, mesh.order, NodeFamily::equispaced);
  std::optional<Location> nearest;
  for (std::size_t f = 0; f < facets.size(); ++f) {
    double size = 0, from_first = 0;
    for (int i = 0; i < mesh.dimension(); ++i)
      from_first += std::pow(mesh.point(vertices.node(facets[f], 0))[i] - point[i], 2);
    for (std::size_t v = 1; v < vertices.count(); ++v) {
      double square = 0;
      for (int i = 0; i < mesh.dimension(); ++i)
        square += std::pow(mesh.point(vertices.node(facets[f], v))[i] - mesh.point(vertices.node(facets[f], 0))[i], 2);
      size = std::max(size, std::sqrt(square));
    }
    const double sagitta = size * std::tan(angles[f] / 4);
    if (std::sqrt(from_first) > 2 * size) continue;
    const std::optional<Inverted> inverted = invert(mesh, basis, facets[f].cell, point);
    if (!inverted) continue;
    const Eigen::VectorXd coordinates = moved_inside(mesh.shape, inverted->coordinates);
    const double distance = distance_between(mesh, basis, facets[f].cell, coordinates, point);
    if (distance <= sagitta && (!nearest || distance < nearest->distance))
      nearest = location(facets[f].cell, coordinates, distance);
  }
  return nearest;
}

}  // namespace femcg::mesh
