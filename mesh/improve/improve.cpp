#include "mesh/improve/improve.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "mesh/improve/smoothing.hpp"
#include "mesh/improve/swaps.hpp"

namespace femcg::mesh {

namespace {

/// Quality of a cell with angles of 15 to 165 degrees.
const double good = -std::cos(15 * std::numbers::pi / 180);

std::vector<std::int32_t> bad_cells(const TetrahedralMesh& mesh) {
  std::vector<std::int32_t> bad;
  for (std::int32_t cell = 0; cell < mesh.cells.end(); ++cell)
    if (mesh.cells.contains(cell) && mesh.quality(mesh.cells.vertices(cell)) < good) bad.push_back(cell);
  return bad;
}

/// Swaps, or else moves the vertices of a cell.
bool improve_cell(TetrahedralMesh& mesh, std::int32_t cell) {
  const std::array<std::int32_t, 4> vertices = mesh.cells.vertices(cell);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < i; ++j)
      if (remove_edge(mesh, vertices[j], vertices[i])) return true;
  for (int i = 0; i < 4; ++i)
    if (swap_facet(mesh, cell, i)) return true;
  bool moved = false;
  for (const std::int32_t v : vertices) moved = (mesh.quality(vertices) < good && smooth_vertex(mesh, v)) || moved;
  return moved;
}

}  // namespace

bool improve(TetrahedralMesh& mesh) {
  constexpr int passes = 10;
  bool changed = false;
  for (int pass = 0; pass < passes; ++pass) {
    bool again = false;
    for (const std::int32_t cell : bad_cells(mesh))
      if (mesh.cells.contains(cell) && mesh.quality(mesh.cells.vertices(cell)) < good)
        again = improve_cell(mesh, cell) || again;
    if (!again) break;
    changed = true;
  }
  return changed;
}

}  // namespace femcg::mesh
