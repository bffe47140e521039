#include "mesh/boundary_surface.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "mesh/element/facet_nodes.hpp"
#include "mesh/geometry.hpp"

namespace femcg::mesh {

namespace {

/// Outward normal of a facet, taken as flat between its vertices.
Eigen::Vector3d normal(const Mesh& mesh, const FacetVertices& vertices, const BoundaryFacet& facet) {
  const auto at = [&](std::size_t v) {
    const std::array<double, 3> x = mesh.point(vertices.node(facet, v));
    return Eigen::Vector3d(x[0], x[1], x[2]);
  };
  Eigen::Vector3d n;
  if (vertices.count() == 2)
    n = (at(1) - at(0)).cross(Eigen::Vector3d::UnitZ());
  else
    n = vertices.count() == 3 ? (at(1) - at(0)).cross(at(2) - at(0)) : (at(2) - at(0)).cross(at(3) - at(1));
  const std::array<double, 3> centre = cell_centre(mesh, facet.cell);
  return (n.dot(at(0) - Eigen::Vector3d(centre[0], centre[1], centre[2])) < 0 ? -1 : 1) * n.normalized();
}

}  // namespace

FacetVertices::FacetVertices(const Mesh& mesh) : mesh_(&mesh), count_(facets(mesh.shape).front().vertices.size()) {
  const Lattice lattice(mesh.shape, mesh.order);
  for (int f = 0; f < static_cast<int>(facets(mesh.shape).size()); ++f)
    std::copy_n(nodes_around_facet(lattice, f).begin(), count_, nodes_.emplace_back().begin());
}

std::array<std::int32_t, 4> FacetVertices::key(const BoundaryFacet& facet) const {
  std::array<std::int32_t, 4> key{-1, -1, -1, -1};
  for (std::size_t v = 0; v < count_; ++v) key[v] = node(facet, v);
  std::ranges::sort(key);
  return key;
}

std::vector<FacetPair> facet_pairs(const Mesh& mesh, std::span<const BoundaryFacet> facets) {
  const FacetVertices vertices(mesh);
  const std::size_t count = vertices.count();
  std::vector<std::pair<std::array<std::int32_t, 2>, std::size_t>> sides;
  for (std::size_t f = 0; f < facets.size(); ++f)
    for (std::size_t v = 0; v < count; ++v) {
      std::array side{vertices.node(facets[f], v), count == 2 ? -1 : vertices.node(facets[f], (v + 1) % count)};
      std::ranges::sort(side);
      sides.emplace_back(side, f);
    }
  std::ranges::sort(sides);
  std::vector<FacetPair> pairs;
  for (std::size_t i = 0; i + 1 < sides.size(); ++i) {
    const auto same = [&](std::size_t j) { return j < sides.size() && sides[j].first == sides[i].first; };
    if (!same(i + 1) || same(i + 2) || (i > 0 && same(i - 1))) continue;
    const std::size_t a = sides[i].second, b = sides[i + 1].second;
    const double cosine = normal(mesh, vertices, facets[a]).dot(normal(mesh, vertices, facets[b]));
    pairs.push_back({a, b, std::acos(std::clamp(cosine, -1.0, 1.0))});
  }
  return pairs;
}

}  // namespace femcg::mesh
