// Parts of meshes: all parts together are the whole, and neighbours agree on shared entities.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "mesh/box/box_part.hpp"
#include "mesh/dofs/ordering.hpp"
#include "mesh/parts/partition.hpp"
#include "mesh/parts/shared_vertices.hpp"

using namespace femcg::mesh;

namespace {

std::vector<double> points_of(const Mesh& mesh, const std::vector<std::int32_t>& nodes) {
  std::vector<double> points;
  for (const std::int32_t node : nodes) {
    const std::array<double, 3> point = mesh.point(node);
    points.insert(points.end(), point.begin(), point.begin() + mesh.dimension());
  }
  return points;
}

std::vector<double> points_of_cell(const Mesh& mesh, std::int32_t cell) {
  const auto nodes = mesh.nodes(cell);
  return points_of(mesh, {nodes.begin(), nodes.end()});
}

/// Keys of items on shared vertices.
std::vector<OnSharedVertices::Key> keys(const std::vector<OnSharedVertices>& list) {
  std::vector<OnSharedVertices::Key> found;
  for (const OnSharedVertices& each : list) found.push_back(each.key);
  return found;
}

void check_parts(const Mesh& whole, const std::vector<MeshPart>& parts) {
  std::vector<int> owners(whole.cell_count(), 0);
  std::map<std::string, std::size_t> facets;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    CAPTURE(rank);
    const MeshPart& part = parts[rank];
    REQUIRE(std::ssize(part.cell_numbers) == part.mesh.cell_count());
    for (std::int32_t cell = 0; cell < part.mesh.cell_count(); ++cell) {
      ++owners[part.cell_numbers[cell]];
      REQUIRE(points_of_cell(part.mesh, cell) == points_of_cell(whole, part.cell_numbers[cell]));  // bitwise equal
      CHECK(part.mesh.cell_regions[cell] == whole.cell_regions[part.cell_numbers[cell]]);
    }
    REQUIRE(part.mesh.boundaries.size() == whole.boundaries.size());
    for (std::size_t g = 0; g < whole.boundaries.size(); ++g) {
      const BoundaryGroup& group = part.mesh.boundaries[g];
      CHECK(group.name == whole.boundaries[g].name);
      facets[group.name] += group.facets.size();
      for (const BoundaryFacet& facet : group.facets)
        CHECK(std::ranges::any_of(whole.boundaries[g].facets, [&](const BoundaryFacet& other) {
          return other.cell == part.cell_numbers[facet.cell] && other.facet == facet.facet;
        }));
    }
    for (const MeshPart::Neighbour& neighbour : part.neighbours) {
      const MeshPart& other = parts.at(static_cast<std::size_t>(neighbour.rank));
      const auto back = std::ranges::find(other.neighbours, static_cast<int>(rank), &MeshPart::Neighbour::rank);
      REQUIRE(back != other.neighbours.end());
      CHECK(points_of(part.mesh, neighbour.vertices) == points_of(other.mesh, back->vertices));
    }
  }
  CHECK(std::ranges::all_of(owners, [](int count) { return count == 1; }));
  for (const BoundaryGroup& group : whole.boundaries) CHECK(facets[group.name] == group.facets.size());
}

/// Checks that dofs with equal keys on two parts lie at one point, and that none is missed.
void check_shared_dofs(const std::vector<MeshPart>& parts, int degree) {
  for (std::size_t rank = 0; rank < parts.size(); ++rank)
    for (std::size_t k = 0; k < parts[rank].neighbours.size(); ++k) {
      const MeshPart &here = parts[rank], &there = parts[static_cast<std::size_t>(here.neighbours[k].rank)];
      const auto back = std::ranges::find(there.neighbours, static_cast<int>(rank), &MeshPart::Neighbour::rank);
      const FunctionSpace of_here(here.mesh, degree), of_there(there.mesh, degree);
      const auto mine = dofs_on_shared_vertices(of_here, here.neighbours)[k];
      const auto others = dofs_on_shared_vertices(of_there, there.neighbours)[back - there.neighbours.begin()];
      const int d = here.mesh.dimension();
      const std::vector<double> my_points = of_here.dof_points(), other_points = of_there.dof_points();
      std::size_t together = 0;
      for (const OnSharedVertices& dof : mine) {
        const auto found = std::ranges::find(others, dof.key, &OnSharedVertices::key);
        if (found == others.end()) continue;
        ++together;
        for (int axis = 0; axis < d; ++axis)
          CHECK(my_points[dof.index * std::size_t(d) + axis] ==
                doctest::Approx(other_points[found->index * std::size_t(d) + axis]).epsilon(1e-12));
      }
      std::size_t expected = 0;  // number of dofs at one point, by comparing all pairs
      for (std::int32_t a = 0; a < of_here.dof_count(); ++a)
        for (std::int32_t b = 0; b < of_there.dof_count(); ++b) {
          double distance = 0;
          for (int axis = 0; axis < d; ++axis)
            distance += std::abs(my_points[a * std::size_t(d) + axis] - other_points[b * std::size_t(d) + axis]);
          expected += distance < 1e-9 ? 1 : 0;
        }
      CHECK(together == expected);
    }
}

std::vector<MeshPart> divided(const Mesh& whole, const std::vector<std::int32_t>& process_of, int processes) {
  const DividedMesh mesh(whole, process_of);
  std::vector<MeshPart> parts;
  for (int rank = 0; rank < processes; ++rank) parts.push_back(part_from_bytes(to_bytes(mesh.part(rank))));
  return parts;
}

}  // namespace

TEST_CASE("blocks of a box are the cells that the whole box has, and neighbours agree on what they share") {
  for (const CellShape shape : all_cell_shapes)
    for (const int refinements : {0, 1})
      for (const int processes : {1, 2, 3, 5, 40}) {
        CAPTURE(name(shape));
        CAPTURE(refinements);
        CAPTURE(processes);
        const BoxOptions box{shape, {3, 4, 2}, {1.5, 1, 0.5}, 0.15};
        Mesh whole = make_box(box);
        for (int r = 0; r < refinements; ++r) whole = refine(whole);
        std::vector<MeshPart> parts;
        for (int rank = 0; rank < processes; ++rank) parts.push_back(part_of_box(box, refinements, rank, processes));
        check_parts(whole, parts);
        const std::vector<std::int32_t> process_of = partition_in_blocks(box, refinements, processes);
        REQUIRE(std::ssize(process_of) == whole.cell_count());
        for (int rank = 0; rank < processes; ++rank)
          for (const std::int32_t cell : parts[static_cast<std::size_t>(rank)].cell_numbers)
            CHECK(process_of[static_cast<std::size_t>(cell)] == rank);
        CHECK(parts.front().mesh.cell_count() > 0);
        if (processes == 3)
          for (const int degree : {1, 3}) check_shared_dofs(parts, degree);
      }
}

TEST_CASE("cells that are merged in pairs, and pairs of these, belong to one process, for 2% of imbalance at most") {
  const auto cells_of_first = [](CellShape shape, int cells) {
    return part_of_box({shape, {cells, 3, 1}}, 0, 0, 2).mesh.box->cells()[0];
  };
  CHECK(cells_of_first(CellShape::quadrilateral, 154) == 76);   // 4 x 19
  CHECK(cells_of_first(CellShape::quadrilateral, 308) == 152);  // 8 x 19; 160 would be 6 away
  CHECK(cells_of_first(CellShape::quadrilateral, 400) == 200);
  CHECK(cells_of_first(CellShape::quadrilateral, 18) == 9);
  CHECK(cells_of_first(CellShape::triangle, 154) == 77);
}

TEST_CASE("a box that the whole could not be is none in blocks") {
  const BoxOptions box{CellShape::hexahedron, {100, 100, 100}};
  CHECK_THROWS_AS(part_of_box(box, 4, 0, 64), std::length_error);
  CHECK_THROWS_AS(part_of_box({CellShape::hexahedron, {3, 0, 1}}, 0, 0, 2), std::invalid_argument);
}

TEST_CASE("parts of any division are the cells of the whole, and neighbours agree on what they share") {
  for (const CellShape shape : all_cell_shapes) {
    CAPTURE(name(shape));
    Mesh whole = make_box({shape, {3, 2, 2}, {1, 1, 1}, 0.1});
    check_parts(whole, divided(whole, partition_along_curve(whole, 3), 3));
    std::vector<std::int32_t> dealt(whole.cell_count());
    for (std::size_t cell = 0; cell < dealt.size(); ++cell) dealt[cell] = static_cast<std::int32_t>(cell) % 4;
    const std::vector<MeshPart> parts = divided(whole, dealt, 5);
    check_parts(whole, parts);
    CHECK(parts[4].mesh.cell_count() == 0);
    for (const int degree : {1, 2, 4}) check_shared_dofs(parts, degree);
  }
}

TEST_CASE("facets with cells of two processes are found by both, and are no boundary once they are cuts") {
  const BoxOptions box{CellShape::hexahedron, {2, 3, 2}, {1, 1, 1}};
  MeshPart left = part_of_box(box, 0, 0, 2);
  const MeshPart right = part_of_box(box, 0, 1, 2);
  const std::vector<BoundaryFacet> of_left = boundary_facets(left.mesh), of_right = boundary_facets(right.mesh);
  const auto on_left = facets_on_shared_vertices(left.mesh, of_left, left.neighbours).front();
  const auto on_right = facets_on_shared_vertices(right.mesh, of_right, right.neighbours).front();
  CHECK(on_left.size() == 4);
  CHECK(keys(on_left) == keys(on_right));
  for (const OnSharedVertices& facet : on_left)
    left.mesh.cuts.push_back(of_left[static_cast<std::size_t>(facet.index)]);
  CHECK(boundary_facets(left.mesh).size() == of_left.size() - 4);
}
