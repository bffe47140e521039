#include "mesh/improve/improve.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>
#include <utility>
#include <vector>

#include "mesh/improve/insertion.hpp"
#include "mesh/improve/smoothing.hpp"
#include "mesh/improve/swaps.hpp"

namespace femcg::mesh {

namespace {

/// Cells below this quality, worst first.
std::vector<std::int32_t> cells_below(const TetrahedralMesh& mesh, double quality) {
  std::vector<std::pair<double, std::int32_t>> found;
  for (std::int32_t cell = 0; cell < mesh.cells.end(); ++cell)
    if (mesh.cells.contains(cell))
      if (const double its = mesh.quality(mesh.cells.vertices(cell)); its < quality) found.emplace_back(its, cell);
  std::ranges::sort(found);
  std::vector<std::int32_t> cells;
  for (const auto& [its, cell] : found) cells.push_back(cell);
  return cells;
}

/// Quality above which a cell is left alone: angles of 15 to 165 degrees, or half the median quality, which is less in
/// a thin plate.
double sufficient_quality(const TetrahedralMesh& mesh) {
  std::vector<double> qualities;
  for (std::int32_t cell = 0; cell < mesh.cells.end(); ++cell)
    if (mesh.cells.contains(cell)) qualities.push_back(mesh.quality(mesh.cells.vertices(cell)));
  if (qualities.empty()) return inverted;
  const auto median = qualities.begin() + std::ssize(qualities) / 2;
  std::ranges::nth_element(qualities, median);
  return -std::cos(std::min(15 * std::numbers::pi / 180, std::acos(std::min(1.0, -*median)) / 2));
}

/// Splits the longest edge of a cell for which splitting helps.
bool split_longest_edge(TetrahedralMesh& mesh, const std::array<std::int32_t, 4>& vertices) {
  std::vector<std::tuple<double, std::int32_t, std::int32_t>> edges;
  for (const std::int32_t v : vertices)
    for (const std::int32_t w : vertices)
      if (v < w) edges.emplace_back(-norm(mesh.points[w] - mesh.points[v]), v, w);
  std::ranges::sort(edges);
  return std::ranges::any_of(edges,
                             [&](const auto& edge) { return split_edge(mesh, std::get<1>(edge), std::get<2>(edge)); });
}

/// Improves a cell by swaps, by moving its vertices, or by splitting an edge, of which at most `splits` are tried.
bool improve_cell(TetrahedralMesh& mesh, std::int32_t cell, double sufficient, std::int32_t& splits) {
  const std::array<std::int32_t, 4> vertices = mesh.cells.vertices(cell);
  if (remove_edge_of(mesh, cell)) return true;
  for (int i = 0; i < 4; ++i)
    if (swap_facet(mesh, cell, i)) return true;
  bool moved = false;
  for (const std::int32_t v : vertices)
    moved = (mesh.quality(vertices) < sufficient && smooth_vertex(mesh, v)) || moved;
  return moved || (splits-- > 0 && split_longest_edge(mesh, vertices));
}

}  // namespace

bool improve(TetrahedralMesh& mesh) {
  const double sufficient = sufficient_quality(mesh);
  // Bounds the time to less than a quarter of Gmsh's for meshing all cells.
  std::int32_t tries = 1000 + mesh.cells.end() / 5, splits = tries / 10;
  constexpr int passes = 10;
  bool changed = false;
  for (int pass = 0; pass < passes; ++pass) {
    bool again = false;
    for (const std::int32_t cell : cells_below(mesh, sufficient))
      if (mesh.cells.contains(cell) && mesh.quality(mesh.cells.vertices(cell)) < sufficient && tries-- > 0)
        again = improve_cell(mesh, cell, sufficient, splits) || again;
    changed = changed || again;
    if (!again || tries <= 0) break;
  }
  return changed;
}

}  // namespace femcg::mesh
