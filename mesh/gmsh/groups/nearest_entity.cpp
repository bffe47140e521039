#include "mesh/gmsh/groups/nearest_entity.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <vector>

namespace femcg::mesh {

namespace {

using Point = Eigen::Vector3d;

/// Distance from p to a simplex: to the foot of the perpendicular if it lies inside, else to the nearest facet. For a
/// degenerate simplex, the distance to its facets.
double distance_to_simplex(const Point& p, std::span<const Point> vertices) {
  const std::size_t edges = vertices.size() - 1;
  if (edges == 0) return (p - vertices[0]).norm();
  Eigen::Matrix<double, 3, Eigen::Dynamic, 0, 3, 3> span(3, edges);
  for (std::size_t e = 0; e < edges; ++e) span.col(e) = vertices[e + 1] - vertices[0];
  const Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 3, 1> weights = span.colPivHouseholderQr().solve(p - vertices[0]);
  if (weights.minCoeff() >= 0 && weights.sum() <= 1) return (vertices[0] + span * weights - p).norm();
  double least = std::numeric_limits<double>::infinity();
  std::array<Point, 4> facet;
  for (std::size_t left_out = 0; left_out <= edges; ++left_out) {
    for (std::size_t v = 0, n = 0; v <= edges; ++v)
      if (v != left_out) facet[n++] = vertices[v];
    least = std::min(least, distance_to_simplex(p, std::span(facet).first(edges)));
  }
  return least;
}

/// Simplices that an element with `corners` vertices is split into, as indices of its vertices in Gmsh's order.
std::vector<std::vector<int>> simplices(int dimension, int corners) {
  if (dimension == 2 && corners == 4) return {{0, 1, 2}, {0, 2, 3}};
  if (dimension == 3 && corners == 8)
    return {{0, 1, 2, 6}, {0, 2, 3, 6}, {0, 3, 7, 6}, {0, 7, 4, 6}, {0, 4, 5, 6}, {0, 5, 1, 6}};
  std::vector<int> all;
  for (int v = 0; v < std::min(corners, dimension + 1); ++v) all.push_back(v);
  return {all};
}

/// Distances of the entities, and the bounding box of their nodes.
class Distances {
 public:
  Distances(const RawMesh& raw, int dimension, const Point& p) : raw_(&raw), plane_(raw.dimension == 2), p_(p) {
    for (const ElementBlock& block : raw.elements(dimension)) {
      if (block.corners == 0) continue;  // types known by name only have no position
      const std::vector<std::vector<int>> parts = simplices(dimension, block.corners);
      double& least = of_entity_.try_emplace(block.entity, std::numeric_limits<double>::infinity()).first->second;
      for (std::size_t e = 0; e < block.size(); ++e) visit(block, e, parts, least);
    }
  }

  Nearest nearest() const {
    Nearest found{0, std::numeric_limits<double>::infinity(), 0};
    for (const auto& [entity, distance] : of_entity_)
      if (distance < found.distance) found = {entity, distance, 0};
    const double tie = 1e-6 * (high_ - low_).maxCoeff();
    for (const auto& [entity, distance] : of_entity_)
      if (entity != found.entity && distance <= found.distance + tie && found.runner_up == 0) found.runner_up = entity;
    return found;
  }

 private:
  Point vertex(std::uint64_t node) const {
    const double* x = raw_->point(node);
    return {x[0], x[1], plane_ ? 0 : x[2]};
  }

  void visit(const ElementBlock& block, std::size_t element, const std::vector<std::vector<int>>& parts,
             double& least) {
    std::array<Point, 8> vertices;
    double size = 0;
    for (int v = 0; v < block.corners; ++v) {
      vertices[v] = vertex(block.nodes[element * block.nodes_per_element + v]);
      low_ = low_.cwiseMin(vertices[v]);
      high_ = high_.cwiseMax(vertices[v]);
      size = std::max(size, (vertices[v] - vertices[0]).norm());
    }
    if ((vertices[0] - p_).norm() - size > least) return;  // all its points are farther away
    for (const std::vector<int>& part : parts) {
      std::array<Point, 4> simplex;
      for (std::size_t v = 0; v < part.size(); ++v) simplex[v] = vertices[part[v]];
      least = std::min(least, distance_to_simplex(p_, std::span(simplex).first(part.size())));
    }
  }

  const RawMesh* raw_;
  bool plane_;
  Point p_;
  Point low_ = Point::Constant(std::numeric_limits<double>::infinity()), high_ = -low_;
  std::map<int, double> of_entity_;
};

}  // namespace

Nearest nearest_entity(const RawMesh& raw, int dimension, std::span<const double> point) {
  const Point p(point[0], point[1], raw.dimension == 2 || point.size() < 3 ? 0 : point[2]);
  return Distances(raw, dimension, p).nearest();
}

}  // namespace femcg::mesh
