#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "mesh/improve/dihedral_angles.hpp"
#include "mesh/improve/simplices.hpp"
#include "mesh/improve/vector3.hpp"

namespace femcg::mesh {

/// Tetrahedra with their constraints from the geometry.
struct TetrahedralMesh {
  explicit TetrahedralMesh(std::size_t vertices)
      : points(vertices), dimensions(vertices), cells(vertices), facets(vertices), edges(vertices), bows(vertices) {}

  std::vector<Vector3> points;
  std::vector<int> dimensions;  ///< of each point's entity: 3 in a volume, 2 on a surface; others do not move
  Simplices<4> cells;           ///< positively oriented, in volumes
  Simplices<3> facets;          ///< on surfaces, between volumes too
  Simplices<2> edges;           ///< on curves; never changed
  /// Moves a point near a curved surface onto it; returns false if that is impossible. Without this function, points on
  /// curved surfaces do not move.
  std::function<bool(int surface, Vector3& point)> project;

  /// A curved edge: the vertex at its other end, and the offset of its midpoint from the chord's. Curved edges and
  /// their vertices do not change.
  struct Bow {
    std::int32_t vertex;
    Vector3 offset;
  };
  std::vector<std::vector<Bow>> bows;  ///< [vertices], in both directions

  /// Adds a vertex without cells and returns its number.
  std::int32_t add_vertex(const Vector3& point, int dimension) {
    points.push_back(point);
    dimensions.push_back(dimension);
    bows.emplace_back();
    cells.add_vertex();
    facets.add_vertex();
    edges.add_vertex();
    return static_cast<std::int32_t>(points.size()) - 1;
  }

  /// State that undo() can return to, except for moved vertices.
  struct State {
    Simplices<4>::State cells;
    Simplices<3>::State facets;
    Simplices<2>::State edges;
  };
  State state() const { return {cells.state(), facets.state(), edges.state()}; }
  void undo(const State& state) {
    cells.undo(state.cells);
    facets.undo(state.facets);
    edges.undo(state.edges);
    points.resize(state.cells.vertices);
    dimensions.resize(state.cells.vertices);
    bows.resize(state.cells.vertices);
  }

  bool bends(std::int32_t v, std::int32_t w) const {
    return std::ranges::find(bows[v], w, &Bow::vertex) != bows[v].end();
  }
  /// Tangent at v of the edge to w, which is a parabola.
  Vector3 tangent(std::int32_t v, std::int32_t w) const {
    const auto bow = std::ranges::find(bows[v], w, &Bow::vertex);
    const Vector3 chord = points[w] - points[v];
    return bow == bows[v].end() ? chord : chord + 4.0 * bow->offset;
  }
  /// Quality of a cell; with curved edges, of its four corners.
  double quality(const std::array<std::int32_t, 4>& v) const {
    if (std::ranges::all_of(v, [&](std::int32_t each) { return bows[each].empty(); }))
      return tetrahedron_quality({points[v[0]], points[v[1]], points[v[2]], points[v[3]]});
    const auto corner = [&](int a, int b, int c, int d) {
      return corner_quality(tangent(v[a], v[b]), tangent(v[a], v[c]), tangent(v[a], v[d]));
    };
    return std::min({corner(0, 1, 2, 3), corner(1, 0, 3, 2), corner(2, 3, 0, 1), corner(3, 2, 1, 0)});
  }
  /// Normal of a facet times twice its area.
  Vector3 normal(const std::array<std::int32_t, 3>& v) const {
    return cross(points[v[1]] - points[v[0]], points[v[2]] - points[v[0]]);
  }
};

/// True if two facets of a smooth surface lie nearly in one plane.
inline bool nearly_parallel(const Vector3& a, const Vector3& b) {
  constexpr double cosine = 0.966;  // of 15 degrees
  return dot(a, b) > cosine * norm(a) * norm(b);
}

}  // namespace femcg::mesh
