#include <doctest/doctest.h>
#include <Eigen/Dense>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "mesh/box/box.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/reference_cell.hpp"
#include "mesh/locate.hpp"

namespace {

using namespace femcg::mesh;

constexpr double size = 1e-3;  ///< of a cell

/// A few distorted cells far from the origin.
Mesh distant_box(CellShape shape, double distance) {
  Mesh mesh = make_box({shape, {3, 3, 3}, {3 * size, 3 * size, 3 * size}, 0.2});
  for (double& x : mesh.coordinates) x += distance;
  return mesh;
}

std::array<double, 3> position(const Mesh& mesh, const Location& location) {
  const LagrangeBasis basis(mesh.shape, mesh.order, NodeFamily::equispaced);
  const Eigen::MatrixXd values =
      basis.values(Eigen::Map<const Eigen::VectorXd>(location.coordinates.data(), mesh.dimension()));
  std::array<double, 3> x{};
  for (int a = 0; a < basis.size(); ++a)
    for (int i = 0; i < mesh.dimension(); ++i) x[i] += values(0, a) * mesh.point(mesh.nodes(location.cell)[a])[i];
  return x;
}

}  // namespace

TEST_CASE("a point of a mesh is found, however small its cells are for their coordinates") {
  std::mt19937 generator(7);
  for (const CellShape shape : all_cell_shapes)
    for (const double distance : {0.0, 1.0, 1e3, -1e6}) {
      CAPTURE(name(shape));
      CAPTURE(distance);
      const Mesh mesh = distant_box(shape, distance);
      std::uniform_real_distribution<double> within(distance, distance + 3 * size);
      for (int k = 0; k < 200; ++k) {
        std::array<double, 3> point{};
        for (int i = 0; i < mesh.dimension(); ++i) point[i] = within(generator);
        const std::optional<Location> found = locate(mesh, point);
        REQUIRE(found);
        // A basis has few functions of absolute value at most 1: the error of the sum of their products with x is that
        // many roundings of x. Newton's steps end at 1e-13 of a cell or at rounding, and few cells are twice as large.
        const double allowed = 32 * std::numeric_limits<double>::epsilon() * (std::abs(distance) + size) + 2e-13 * size;
        const std::array<double, 3> there = position(mesh, *found);
        for (int i = 0; i < mesh.dimension(); ++i) CHECK(std::abs(there[i] - point[i]) <= allowed);
      }
      for (const double beyond : {-0.01, 3.01}) {
        std::array<double, 3> point{};
        std::fill_n(point.begin(), mesh.dimension(), distance + 1.5 * size);
        point[1] = distance + beyond * size;
        CHECK_FALSE(locate(mesh, point));
      }
    }
}

TEST_CASE("nodes and their neighbourhood to rounding are inside") {
  for (const double distance : {0.0, 1e4, 1e6}) {
    CAPTURE(distance);
    const Mesh mesh = distant_box(CellShape::hexahedron, distance);
    for (std::int32_t node = 0; node < mesh.node_count(); ++node) {
      const std::array<double, 3> x = mesh.point(node);
      CHECK(locate(mesh, x));
      CHECK(locate(mesh, {std::nextafter(x[0], -1e9), std::nextafter(x[1], 1e9), x[2]}));
    }
  }
}

TEST_CASE("a point of a curved surface that flat cells leave out is found at its distance, one farther out is not") {
  // A ring of quadrilaterals between radii 1 and 2.
  constexpr int around = 24;
  Mesh ring = make_box({CellShape::quadrilateral, {around, 1, 1}, {1, 1, 1}});
  ring.list_nodes();
  const double turn = 2 * std::acos(-1.0);
  for (std::int32_t node = 0; node < ring.node_count(); ++node) {
    const double angle = turn * ring.coordinates[2 * node], radius = 1 + ring.coordinates[2 * node + 1];
    ring.coordinates[2 * node] = radius * std::cos(angle);
    ring.coordinates[2 * node + 1] = radius * std::sin(angle);
  }
  const double half = turn / around / 2, middle = 3.5 * turn / around, sagitta = 2 * (1 - std::cos(half));
  const auto at = [&](double radius) { return std::array{radius * std::cos(middle), radius * std::sin(middle), 0.0}; };
  CHECK(!locate(ring, at(2)));
  const auto found = locate_on_surface(ring, at(2));
  REQUIRE(found);
  CHECK(std::abs(found->distance - sagitta) < 1e-9);
  CHECK(found->cell == 3);
  CHECK(!locate_on_surface(ring, at(2 + 2 * sagitta)));
  // A plane side has no curvature.
  const Mesh square = make_box({CellShape::triangle, {4, 4, 1}, {1, 1, 1}});
  CHECK(!locate_on_surface(square, {0.5, 1 + 1e-6, 0}));
}
