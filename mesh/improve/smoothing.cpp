#include "mesh/improve/smoothing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace femcg::mesh {

namespace {

/// A vertex with the cells and surface facets around it.
class Star {
 public:
  Star(TetrahedralMesh& mesh, std::int32_t vertex) : mesh_(&mesh), vertex_(vertex), cells_(mesh.cells.at(vertex)) {
    for (const std::int32_t facet : mesh.facets.at(vertex))
      normals_.push_back(mesh.normal(mesh.facets.vertices(facet)));
  }

  /// Least quality of the cells, or any lower bound of it that is not above `enough`. Moves the worst cell to the front
  /// for the next call.
  double quality(double enough) {
    double least = 1;
    for (auto cell = cells_.begin(); cell != cells_.end(); ++cell) {
      least = std::min(least, mesh_->quality(mesh_->cells.vertices(*cell)));
      if (least > enough) continue;
      std::rotate(cells_.begin(), cell, cell + 1);
      break;
    }
    return least;
  }

  /// True if the facets lie in one plane.
  bool flat() const {
    constexpr double rounding = 1e-12;
    return std::ranges::all_of(normals_, [&](const Vector3& n) {
      const Vector3 c = cross(n, normals_[0]);
      return dot(c, c) <= rounding * dot(n, n) * dot(normals_[0], normals_[0]);
    });
  }

  /// True if the facets' normals show that the surface has not changed.
  bool keeps_surface() const {
    const std::vector<std::int32_t>& facets = mesh_->facets.at(vertex_);
    for (std::size_t f = 0; f < facets.size(); ++f)
      if (!nearly_parallel(mesh_->normal(mesh_->facets.vertices(facets[f])), normals_[f])) return false;
    return true;
  }

  /// Length of the shortest edge at the vertex.
  double radius() const {
    double least = std::numeric_limits<double>::infinity();
    for (const std::int32_t cell : cells_)
      for (const std::int32_t v : mesh_->cells.vertices(cell))
        if (v != vertex_) least = std::min(least, norm(mesh_->points[v] - mesh_->points[vertex_]));
    return least;
  }

  /// Directions to try: to a cube's faces, edges and corners, or eight in the plane of the surface.
  std::vector<Vector3> directions() const {
    std::vector<Vector3> all;
    if (normals_.empty()) {
      for (int x = -1; x <= 1; ++x)
        for (int y = -1; y <= 1; ++y)
          for (int z = -1; z <= 1; ++z)
            if (x != 0 || y != 0 || z != 0) all.push_back(unit({double(x), double(y), double(z)}));
      return all;
    }
    Vector3 normal;
    for (const Vector3& n : normals_) normal = normal + n;
    normal = unit(normal);
    const Vector3 across = std::abs(normal.x) < 0.5   ? Vector3{1, 0, 0}
                           : std::abs(normal.y) < 0.5 ? Vector3{0, 1, 0}
                                                      : Vector3{0, 0, 1};
    const Vector3 u = unit(cross(normal, across)), v = cross(normal, u);
    for (int x = -1; x <= 1; ++x)
      for (int y = -1; y <= 1; ++y)
        if (x != 0 || y != 0) all.push_back(unit(double(x) * u + double(y) * v));
    return all;
  }

 private:
  TetrahedralMesh* mesh_;
  std::int32_t vertex_;
  std::vector<std::int32_t> cells_;
  std::vector<Vector3> normals_;  ///< of the facets before the move
};

}  // namespace

bool smooth_vertex(TetrahedralMesh& mesh, std::int32_t vertex) {
  const int dimension = mesh.dimensions[vertex];
  if (dimension < 2 || mesh.cells.at(vertex).empty() || !mesh.bows[vertex].empty()) return false;
  const bool on_surface = dimension == 2;
  if (on_surface == mesh.facets.at(vertex).empty()) return false;
  Star star(mesh, vertex);
  const bool projects = on_surface && !star.flat();
  if (projects && !mesh.project) return false;
  const int surface = on_surface ? mesh.facets.entity(mesh.facets.at(vertex).front()) : 0;
  const std::vector<Vector3> directions = star.directions();
  double best = star.quality(inverted), step = star.radius() / 4;
  constexpr double least_gain = 1e-4;
  bool moved = false;
  for (int halvings = 0; halvings < 6;) {
    const Vector3 from = mesh.points[vertex];
    Vector3 to = from;
    for (const Vector3& direction : directions) {
      mesh.points[vertex] = from + step * direction;
      if (star.quality(best + least_gain) <= best + least_gain) continue;
      if (projects &&
          (!mesh.project(surface, mesh.points[vertex]) || star.quality(best + least_gain) <= best + least_gain))
        continue;
      if (on_surface && !star.keeps_surface()) continue;
      best = star.quality(inverted);
      to = mesh.points[vertex];
    }
    mesh.points[vertex] = to;
    if (to == from) {
      step /= 2;
      ++halvings;
    }
    moved = moved || !(to == from);
  }
  return moved;
}

}  // namespace femcg::mesh
