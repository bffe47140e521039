// What is known of a structured grid against what is found by a search, which an extra cell at the end brings about.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "mesh/box.hpp"
#include "mesh/function_space.hpp"
#include "mesh/structured_grid.hpp"

using namespace femcg::mesh;

namespace {

const std::vector<std::array<int, 3>> sizes{{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {2, 2, 2},
                                            {1, 3, 2}, {4, 1, 3}, {5, 3, 1}, {3, 4, 5}};

Mesh box(CellShape shape, const std::array<int, 3>& cells) { return make_box({shape, cells, {1, 1, 1}, 0.2}); }

/// With a cell of its own behind all others.
Mesh with_another(Mesh mesh) {
  const std::int32_t nodes = mesh.node_count();
  const int corners = mesh.nodes_per_cell(), d = mesh.dimension();
  for (int v = 0; v < corners; ++v) {
    mesh.cell_nodes.push_back(nodes + v);
    for (int axis = 0; axis < d; ++axis) mesh.coordinates.push_back(5 + (v >> axis & 1));
  }
  mesh.cell_regions.push_back(0);
  return mesh;
}

bool same(const BoundaryFacet& a, const BoundaryFacet& b) { return a.cell == b.cell && a.facet == b.facet; }

}  // namespace

TEST_CASE("dofs of a grid are numbered as those of any mesh") {
  for (const CellShape shape : {CellShape::quadrilateral, CellShape::hexahedron})
    for (const auto& cells : sizes)
      for (int degree = 1; degree <= 5; ++degree) {
        CAPTURE(degree);
        const Mesh grid = box(shape, cells), other = with_another(grid);
        REQUIRE(structured_grid(grid));
        REQUIRE_FALSE(structured_grid(other));
        const FunctionSpace known(grid, degree), found(other, degree);
        CHECK(known.dof_count() == found.dof_count() - known.dofs_per_cell());
        CHECK(std::ranges::equal(known.cell_dofs(), std::span(found.cell_dofs()).first(known.cell_dofs().size())));
      }
}

TEST_CASE("the facets around a grid, and its one component") {
  for (const CellShape shape : {CellShape::quadrilateral, CellShape::hexahedron})
    for (const auto& cells : sizes) {
      const Mesh grid = box(shape, cells);
      std::vector<BoundaryFacet> expected = boundary_facets(with_another(grid));
      std::erase_if(expected, [&](const BoundaryFacet& facet) { return facet.cell == grid.cell_count(); });
      CHECK(std::ranges::equal(boundary_facets(grid), expected, same));
      CHECK(cell_components(grid) == std::vector<std::int32_t>(grid.cell_count(), 0));
    }
}

TEST_CASE("where other processes go on there is no boundary") {
  Mesh grid = box(CellShape::hexahedron, {3, 2, 2});
  const std::vector<BoundaryFacet> all = boundary_facets(grid);
  grid.cuts = {all[1], all[4]};
  CHECK(boundary_facets(grid).size() == all.size() - 2);
}

TEST_CASE("what is no grid is not taken for one") {
  const Mesh grid = box(CellShape::hexahedron, {3, 4, 5});
  CHECK(structured_grid(grid) == GridCells{3, 4, 5});
  Mesh turned = grid;
  std::swap_ranges(turned.cell_nodes.begin() + 80, turned.cell_nodes.begin() + 88, turned.cell_nodes.begin() + 160);
  CHECK_FALSE(structured_grid(turned));
  Mesh joined = grid;
  joined.cell_nodes.back() = joined.cell_nodes.front();
  CHECK_FALSE(structured_grid(joined));
  CHECK_FALSE(structured_grid(box(CellShape::tetrahedron, {3, 4, 5})));
  CHECK_FALSE(structured_grid(Mesh()));
}
