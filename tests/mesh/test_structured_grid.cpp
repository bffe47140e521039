// Structured grids compared with the same mesh found by search, which an extra cell at the end enforces.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "mesh/box/box.hpp"
#include "mesh/dofs/function_space.hpp"
#include "mesh/dofs/ordering.hpp"
#include "mesh/element/reference_cell.hpp"
#include "mesh/structured_grid.hpp"

using namespace femcg::mesh;

namespace {

const std::vector<std::array<int, 3>> sizes{{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {2, 2, 2},
                                            {1, 3, 2}, {4, 1, 3}, {5, 3, 1}, {3, 4, 5}};

Mesh box(CellShape shape, const std::array<int, 3>& cells) { return make_box({shape, cells, {1, 1, 1}, 0.2}); }

/// The mesh with an extra, separate cell at the end.
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
        const Array<std::int32_t> of_grid = known.list_dofs(), all = found.list_dofs();
        CHECK(std::ranges::equal(of_grid, std::span(all).first(of_grid.size())));
      }
}

TEST_CASE("a described box is the listed one") {
  for (const CellShape shape : all_cell_shapes)
    for (const auto& cells : sizes)
      for (const double distort : {0.0, 0.2}) {
        CAPTURE(name(shape));
        const BoxOptions options{shape, cells, {1, 0.7, 1.3}, distort};
        Mesh described = implicit_box(options);
        const Mesh listed = make_box(options);
        CHECK(described.cell_nodes.empty());
        CHECK(described.coordinates.empty() == (distort == 0));
        REQUIRE_FALSE(listed.box);
        REQUIRE(described.node_count() == listed.node_count());
        REQUIRE(described.cell_count() == listed.cell_count());
        for (std::int32_t node = 0; node < listed.node_count(); ++node)
          CHECK(described.point(node) == listed.point(node));
        for (std::int32_t cell = 0; cell < listed.cell_count(); ++cell)
          CHECK(std::ranges::equal(described.nodes(cell), listed.nodes(cell)));
        CHECK(structured_grid(described) == structured_grid(listed));
        CHECK(std::ranges::equal(boundary_facets(described), boundary_facets(listed), same));
        CHECK(FunctionSpace(described, 3).list_dofs() == FunctionSpace(listed, 3).list_dofs());
        order_cells_along_curve(described);
        Mesh ordered = listed;
        order_cells_along_curve(ordered);
        CHECK(described.cell_nodes == ordered.cell_nodes);
        CHECK(described.coordinates == listed.coordinates);
      }
}

TEST_CASE("quotients by multiplication are those of division") {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  for (const std::int64_t divisor : {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{7},
                                     std::int64_t{1291}, std::int64_t{46341}, std::int64_t{99999989}, most - 1, most}) {
    const Quotient quotient(static_cast<std::int32_t>(divisor));
    for (std::int64_t multiple = 0; multiple <= most / divisor;
         multiple += std::max(most / divisor / 1000, std::int64_t{1}))
      for (const std::int64_t rest : {std::int64_t{0}, std::int64_t{1}, divisor - 1}) {
        const std::int64_t number = std::min(multiple * divisor + rest, most);
        REQUIRE(quotient(static_cast<std::int32_t>(number)) == number / divisor);
        REQUIRE(quotient.rest(static_cast<std::int32_t>(number)) == number % divisor);
      }
    REQUIRE(quotient(static_cast<std::int32_t>(most)) == most / divisor);
  }
}

TEST_CASE("nodes of a box that is not distorted are those of a lattice, cell by cell") {
  const Mesh box = implicit_box({CellShape::hexahedron, {3, 2, 4}, {1.5, 1, 8}});
  for (std::int32_t cell = 0; cell < box.cell_count(); ++cell) {
    const std::array<int, 3> at{cell % 3, cell / 3 % 2, cell / 6};
    const auto nodes = box.nodes(cell);
    for (int v = 0; v < 8; ++v)
      CHECK(box.point(nodes[v]) ==
            std::array{0.5 * (at[0] + (v & 1)), 0.5 * (at[1] + (v >> 1 & 1)), 2.0 * (at[2] + (v >> 2))});
  }
}

namespace {

/// Corners of all cells, or of the facets of a boundary, sorted.
std::vector<std::vector<double>> corners(const Mesh& mesh, const std::vector<BoundaryFacet>* facets_of = nullptr) {
  std::vector<std::vector<double>> found;
  const auto add = [&](std::int32_t cell, const std::vector<int>& vertices) {
    std::vector<double> of_one;
    for (const int v : vertices) {
      const std::array<double, 3> point = mesh.point(mesh.nodes(cell)[v]);
      of_one.insert(of_one.end(), point.begin(), point.end());
    }
    found.push_back(of_one);
  };
  if (facets_of != nullptr) {
    for (const BoundaryFacet& facet : *facets_of) add(facet.cell, facets(mesh.shape)[facet.facet].vertices);
  } else {
    std::vector<int> all(mesh.nodes_per_cell());
    std::iota(all.begin(), all.end(), 0);
    for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) add(cell, all);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

TEST_CASE("a box that is refined is a box again, unless it is distorted or of simplices, or too large") {
  for (const CellShape shape : {CellShape::quadrilateral, CellShape::hexahedron})
    for (const int refinements : {1, 2}) {
      const BoxOptions options{shape, {3, 2, 1}, {1.5, 1, 4}};  // halves are exact
      Mesh expected = make_box(options);
      for (int r = 0; r < refinements; ++r) expected = refine(expected);
      const auto fine = refined_box(options, refinements);
      REQUIRE(fine);
      const Mesh found = implicit_box(*fine);
      CHECK(found.box);
      CHECK(corners(found) == corners(expected));
      for (std::size_t side = 0; side < expected.boundaries.size(); ++side) {
        CHECK(found.boundaries[side].name == expected.boundaries[side].name);
        CHECK(corners(found, &found.boundaries[side].facets) == corners(expected, &expected.boundaries[side].facets));
      }
    }
  CHECK(refined_box({CellShape::triangle, {3, 2, 1}}, 0));
  CHECK_FALSE(refined_box({CellShape::triangle, {3, 2, 1}}, 1));
  CHECK_FALSE(refined_box({CellShape::quadrilateral, {3, 2, 1}, {1, 1, 1}, 0.1}, 1));
  CHECK(refined_box({CellShape::quadrilateral, {3, 3, 1}}, 13));
  CHECK_FALSE(refined_box({CellShape::quadrilateral, {3, 3, 1}}, 14));
  CHECK_FALSE(refined_box({CellShape::hexahedron, {1 << 30, 1, 1}}, 2));
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
