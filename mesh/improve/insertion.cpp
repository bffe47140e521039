#include "mesh/improve/insertion.hpp"

#include <algorithm>
#include <vector>

#include "mesh/improve/smoothing.hpp"
#include "mesh/improve/swaps.hpp"

namespace femcg::mesh {

namespace {

/// Replaces each simplex with the edge (a, b) by two, in which `middle` replaces either end.
template <std::size_t K>
void split_simplices(Simplices<K>& simplices, std::int32_t a, std::int32_t b, std::int32_t middle) {
  for (const std::int32_t whole : simplices.around({a, b})) {
    for (const std::int32_t end : {a, b}) {
      auto half = simplices.vertices(whole);
      std::ranges::replace(half, end, middle);
      simplices.add(half, simplices.entity(whole));
    }
    simplices.remove(whole);
  }
}

/// True if a surface hardly bends at a vertex of a facet, so that a chord is close to the surface.
bool is_nearly_flat(const TetrahedralMesh& mesh, std::int32_t facet, std::int32_t vertex) {
  const Vector3 normal = mesh.normal(mesh.facets.vertices(facet));
  return std::ranges::all_of(mesh.facets.at(vertex), [&](std::int32_t other) {
    return mesh.facets.entity(other) != mesh.facets.entity(facet) ||
           nearly_parallel(mesh.normal(mesh.facets.vertices(other)), normal);
  });
}

/// Swaps edges of the cells at a vertex, worst cells first, and moves the vertex.
void settle(TetrahedralMesh& mesh, std::int32_t vertex) {
  constexpr int passes = 4;
  for (int pass = 0; pass < passes; ++pass) {
    std::vector<std::pair<double, std::int32_t>> cells;
    for (const std::int32_t cell : mesh.cells.at(vertex))
      cells.emplace_back(mesh.quality(mesh.cells.vertices(cell)), cell);
    std::ranges::sort(cells);
    bool changed = false;
    for (const auto& [quality, cell] : cells)
      if (mesh.cells.contains(cell)) changed = remove_edge_of(mesh, cell) || changed;
    changed = smooth_vertex(mesh, vertex) || changed;
    if (!changed) return;
  }
}

/// True if the least quality of the cells added since `before` is well above that of the cells they replace.
bool gained(const TetrahedralMesh& mesh, const Simplices<4>::State& before) {
  constexpr double least_gain = 1e-3;  // 5 to 5.6 degrees, 14 to 14.2
  double old = 1;
  for (const std::int32_t cell : mesh.cells.removed_since(before))
    old = std::min(old, mesh.quality(mesh.cells.vertices(cell)));
  for (std::int32_t cell = before.end; cell < mesh.cells.end(); ++cell)
    if (mesh.cells.contains(cell) && mesh.quality(mesh.cells.vertices(cell)) < old + least_gain) return false;
  return true;
}

}  // namespace

bool split_edge(TetrahedralMesh& mesh, std::int32_t a, std::int32_t b) {
  if (!mesh.edges.around({a, b}).empty() || mesh.bends(a, b)) return false;
  const std::vector<std::int32_t> facets = mesh.facets.around({a, b});
  if (!facets.empty() && !(is_nearly_flat(mesh, facets[0], a) && is_nearly_flat(mesh, facets[0], b))) return false;
  Vector3 point = 0.5 * (mesh.points[a] + mesh.points[b]);
  if (!facets.empty() && !(mesh.project && mesh.project(mesh.facets.entity(facets[0]), point))) return false;
  const TetrahedralMesh::State before = mesh.state();
  const std::int32_t middle = mesh.add_vertex(point, facets.empty() ? 3 : 2);
  split_simplices(mesh.cells, a, b, middle);
  split_simplices(mesh.facets, a, b, middle);
  settle(mesh, middle);
  if (gained(mesh, before.cells)) return true;
  mesh.undo(before);
  return false;
}

}  // namespace femcg::mesh
