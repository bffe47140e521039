// Quality of cells made by hand, compared with formulas, and warnings about slivers.
#include "mesh/cell_quality.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

using namespace femcg::mesh;
using doctest::Approx;

namespace {

/// One cell with these nodes, in lattice order.
Mesh one_cell(CellShape shape, const std::vector<double>& coordinates, int order = 1) {
  Mesh cell;
  cell.shape = shape;
  cell.order = order;
  cell.coordinates = coordinates;
  for (int n = 0; n < lattice_size(shape, order); ++n) cell.cell_nodes.push_back(n);
  cell.cell_regions = {0};
  cell.region_names = {"domain"};
  return cell;
}

CellQuality quality_of(CellShape shape, const std::vector<double>& coordinates, int order = 1) {
  return cell_qualities(one_cell(shape, coordinates, order)).front();
}

}  // namespace

TEST_CASE("the quality of cells made by hand") {
  const double h = std::sqrt(3.0) / 2;
  CellQuality cell = quality_of(CellShape::triangle, {0, 0, 1, 0, 0.5, h});
  CHECK(cell.smallest_angle == Approx(60));
  CHECK(cell.largest_angle == Approx(60));
  CHECK(cell.aspect == Approx(1));
  CHECK(cell.jacobian == Approx(1));

  // Legs 3 and 4: the radius is 1.
  cell = quality_of(CellShape::triangle, {1, 1, 4, 1, 1, 5});
  CHECK(cell.smallest_angle == Approx(std::atan(0.75) * 180 / std::numbers::pi));
  CHECK(cell.largest_angle == Approx(90));
  CHECK(cell.aspect == Approx(5 / (2 * std::sqrt(3.0))));

  cell = quality_of(CellShape::tetrahedron, {1, 1, 1, 1, -1, -1, -1, 1, -1, -1, -1, 1});
  CHECK(cell.smallest_angle == Approx(std::acos(1.0 / 3) * 180 / std::numbers::pi));
  CHECK(cell.largest_angle == Approx(cell.smallest_angle));
  CHECK(cell.aspect == Approx(1));

  // The lower side y = -0.4 x (1 - x) meets (1, 0) with slope 0.4, which makes the largest angle there.
  cell = quality_of(CellShape::triangle, {0, 0, 0.5, -0.1, 1, 0, 0.75, 0.5, 1.25, 0.5, 1.5, 1}, 2);
  const auto degrees = [](double y, double x) { return std::atan2(y, x) * 180 / std::numbers::pi; };
  CHECK(cell.largest_angle == Approx(180 + degrees(0.4, 1) - degrees(1, 0.5)));
  CHECK(cell.smallest_angle == Approx(degrees(1, 0.5) - degrees(1, 1.5)));
  CHECK(cell.jacobian < 0.9);

  // Corner of a cube: V = 1/6, surface 3/2 + sqrt(3)/2.
  cell = quality_of(CellShape::tetrahedron, {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1});
  CHECK(cell.smallest_angle == Approx(std::acos(1 / std::sqrt(3.0)) * 180 / std::numbers::pi));
  CHECK(cell.largest_angle == Approx(90));
  const double radius = 0.5 / (1.5 + std::sqrt(3.0) / 2);
  CHECK(cell.aspect == Approx(std::sqrt(2.0) / (2 * std::sqrt(6.0) * radius)));

  cell = quality_of(CellShape::hexahedron, {0, 0, 0, 3, 0, 0, 0, 2, 0, 3, 2, 0, 0, 0, 1, 3, 0, 1, 0, 2, 1, 3, 2, 1});
  CHECK(cell.smallest_angle == Approx(90));
  CHECK(cell.largest_angle == Approx(90));
  CHECK(cell.aspect == Approx(3));
  CHECK(cell.jacobian == Approx(1));

  // Trapezium with parallel sides 2 and 1: the determinant is the width, from 2 to 1.
  cell = quality_of(CellShape::quadrilateral, {0, 0, 2, 0, 0, 1, 1, 1});
  CHECK(cell.smallest_angle == Approx(45));
  CHECK(cell.largest_angle == Approx(135));
  CHECK(cell.jacobian == Approx(0.5));
  CHECK(cell.aspect == Approx(1.5 / std::hypot(0.5, 1)));
}

TEST_CASE("slivers are said, with their angle and place") {
  // A square with two opposite corners lifted by h: the cosine of the angles at its sides is 1 / (1 + h^2).
  const auto sliver = [](double h) { return one_cell(CellShape::tetrahedron, {1, 0, h, 0, 1, 0, 0, -1, 0, -1, 0, h}); };
  Mesh mesh = sliver(0.01);
  note_slivers(mesh);
  REQUIRE(mesh.warnings.size() == 1);
  CHECK(mesh.warnings[0] ==
        "the smallest dihedral angle of a cell is 0.81 degrees, at (0, 0, 0.005), and 1 of 1 cells have one below 5 (1 "
        "where sides of the part meet at it, which no mesh can mend): CG takes about 1.2 times the iterations that it "
        "takes without such cells");
  // The same with a cell at each of its facets.
  mesh.coordinates.insert(mesh.coordinates.end(), {0, 0, 1, 0, 0, -1});
  for (int skipped = 0; skipped < 4; ++skipped) {
    for (int v = 0; v < 4; ++v) mesh.cell_nodes.push_back(v == skipped ? 4 + skipped / 2 : v);
    mesh.cell_regions.push_back(0);
  }
  mesh.warnings.clear();
  note_slivers(mesh);
  REQUIRE(mesh.warnings.size() == 1);
  CHECK(mesh.warnings[0].starts_with(
      "the smallest dihedral angle of a cell is 0.81 degrees, at (0, 0, 0.005), and 1 of"));
  CHECK(mesh.warnings[0].find("sides") == std::string::npos);
  mesh = sliver(0.2);
  note_slivers(mesh);
  CHECK(mesh.warnings.empty());
  mesh = one_cell(CellShape::triangle, {0, 0, 1, 0, 0.5, 1e-3});
  note_slivers(mesh);
  REQUIRE(mesh.warnings.size() == 1);
  CHECK(mesh.warnings[0].starts_with("the smallest angle of a cell is 0.11 degrees, at (0.5, 0.0003333), and 1 of 1"));
}
