// Swaps and smoothing on meshes made by hand, and on a mesh of two volumes: volumes, surfaces and curves are preserved,
// the mesh is conforming, and angles grow. test_gmsh_reader.cpp has the meshes of geometries.
#include "mesh/improve/improve.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <numbers>
#include <random>
#include <set>

#include "mesh/box/box.hpp"
#include "mesh/improve/insertion.hpp"
#include "mesh/improve/smoothing.hpp"
#include "mesh/improve/swaps.hpp"

using namespace femcg::mesh;
using doctest::Approx;

namespace {

using Cell = std::array<std::int32_t, 4>;
using Facet = std::array<std::int32_t, 3>;

Facet sorted(Facet facet) {
  std::ranges::sort(facet);
  return facet;
}

/// Cells at each facet, by its vertices in ascending order.
std::map<Facet, std::vector<std::int32_t>> cells_at_facets(const TetrahedralMesh& mesh) {
  std::map<Facet, std::vector<std::int32_t>> cells;
  for (std::int32_t c = 0; c < mesh.cells.end(); ++c)
    if (mesh.cells.contains(c))
      for (int skipped = 0; skipped < 4; ++skipped) {
        const Cell& v = mesh.cells.vertices(c);
        cells[sorted({v[skipped == 0 ? 1 : 0], v[skipped <= 1 ? 2 : 1], v[skipped <= 2 ? 3 : 2]})].push_back(c);
      }
  return cells;
}

double volume(const TetrahedralMesh& mesh, const Cell& v) {
  const auto& x = mesh.points;
  return dot(x[v[1]] - x[v[0]], cross(x[v[2]] - x[v[0]], x[v[3]] - x[v[0]])) / 6;
}

/// Mesh with these cells, reoriented if inverted; surface(centre) is the surface of a facet that bounds a volume. Edges
/// shared by several surfaces are curves.
template <class Surface>
TetrahedralMesh mesh_of(const std::vector<Vector3>& points, const std::vector<Cell>& cells,
                        const std::vector<int>& volumes, const Surface& surface) {
  TetrahedralMesh mesh(points.size());
  mesh.points = points;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    Cell cell = cells[c];
    if (volume(mesh, cell) < 0) std::swap(cell[0], cell[1]);
    mesh.cells.add(cell, volumes[c]);
  }
  std::vector<std::set<int>> of_vertices(points.size());
  std::map<std::pair<std::int32_t, std::int32_t>, std::set<int>> of_edges;
  for (const auto& [facet, at] : cells_at_facets(mesh)) {
    if (at.size() == 2 && mesh.cells.entity(at[0]) == mesh.cells.entity(at[1])) continue;
    const int tag = surface((1.0 / 3) * (points[facet[0]] + points[facet[1]] + points[facet[2]]));
    const std::int32_t inner = mesh.cells.entity(at.back()) < mesh.cells.entity(at.front()) ? at.back() : at.front();
    const Cell& cell = mesh.cells.vertices(inner);
    const auto opposite =
        *std::ranges::find_if(cell, [&](std::int32_t v) { return std::ranges::count(facet, v) == 0; });
    const bool outward = volume(mesh, {facet[0], facet[1], facet[2], opposite}) < 0;
    mesh.facets.add(outward ? facet : Facet{facet[1], facet[0], facet[2]}, tag);
    for (int i = 0; i < 3; ++i) {
      of_vertices[facet[i]].insert(tag);
      of_edges[std::minmax(facet[i], facet[(i + 1) % 3])].insert(tag);
    }
  }
  for (const auto& [edge, surfaces] : of_edges)
    if (surfaces.size() > 1) mesh.edges.add({edge.first, edge.second}, 0);
  for (std::size_t v = 0; v < points.size(); ++v)
    mesh.dimensions[v] = 3 - std::min<int>(3, static_cast<int>(of_vertices[v].size()));
  return mesh;
}

TetrahedralMesh mesh_of(const std::vector<Vector3>& points, const std::vector<Cell>& cells) {
  return mesh_of(points, cells, std::vector<int>(cells.size(), 1), [](const Vector3&) { return 1; });
}

/// Volumes of the volumes and areas of the surfaces.
std::map<std::pair<int, int>, double> measures(const TetrahedralMesh& mesh) {
  std::map<std::pair<int, int>, double> sizes;
  for (std::int32_t c = 0; c < mesh.cells.end(); ++c)
    if (mesh.cells.contains(c)) sizes[{3, mesh.cells.entity(c)}] += volume(mesh, mesh.cells.vertices(c));
  for (std::int32_t f = 0; f < mesh.facets.end(); ++f)
    if (mesh.facets.contains(f)) sizes[{2, mesh.facets.entity(f)}] += norm(mesh.normal(mesh.facets.vertices(f))) / 2;
  return sizes;
}

/// Checks that cells are positively oriented and conforming: each facet has two cells of a volume, or lies on a
/// surface, whose facets are complete.
void check_conforming(const TetrahedralMesh& mesh) {
  std::set<Facet> on_surfaces;
  for (std::int32_t f = 0; f < mesh.facets.end(); ++f)
    if (mesh.facets.contains(f)) CHECK(on_surfaces.insert(sorted(mesh.facets.vertices(f))).second);
  std::size_t bounding = 0;
  for (const auto& [facet, at] : cells_at_facets(mesh)) {
    CHECK(at.size() <= 2);
    if (at.size() == 2 && mesh.cells.entity(at[0]) == mesh.cells.entity(at[1])) continue;
    CHECK(on_surfaces.contains(facet));
    ++bounding;
  }
  CHECK(bounding == on_surfaces.size());
  for (std::int32_t c = 0; c < mesh.cells.end(); ++c)
    if (mesh.cells.contains(c)) CHECK(volume(mesh, mesh.cells.vertices(c)) > 0);
}

/// Smallest dihedral angle in degrees, or 180 minus the largest if that is less.
double smallest_dihedral_angle(const TetrahedralMesh& mesh) {
  double least = 1;
  for (std::int32_t c = 0; c < mesh.cells.end(); ++c)
    if (mesh.cells.contains(c)) least = std::min(least, mesh.quality(mesh.cells.vertices(c)));
  return std::acos(-least) * 180 / std::numbers::pi;
}

std::int32_t count(const TetrahedralMesh& mesh) {
  std::int32_t cells = 0;
  for (std::int32_t c = 0; c < mesh.cells.end(); ++c) cells += mesh.cells.contains(c) ? 1 : 0;
  return cells;
}

/// Cells around an axis of this height, from vertex 0 to 1, between the given angles in degrees: all around it if
/// closed, otherwise from the first angle to the last.
TetrahedralMesh around_axis(double height, const std::vector<double>& angles, bool closed) {
  std::vector<Vector3> points{{0, 0, -height / 2}, {0, 0, height / 2}};
  std::vector<Cell> cells;
  const auto n = static_cast<std::int32_t>(angles.size());
  for (std::int32_t i = 0; i < n; ++i) {
    const double angle = angles[i] * std::numbers::pi / 180;
    points.push_back({std::cos(angle), std::sin(angle), 0});
    if (closed || i + 1 < n) cells.push_back({0, 1, 2 + i, 2 + (i + 1) % n});
  }
  return mesh_of(points, cells);
}

/// A box of two volumes, x < 1 and x > 1, with vertices moved randomly as far as their surfaces allow.
TetrahedralMesh shaken_box(double by) {
  const Mesh box = make_box({CellShape::tetrahedron, {8, 5, 4}, {2, 1, 1}});
  std::vector<Vector3> points;
  for (std::int32_t v = 0; v < box.node_count(); ++v)
    points.push_back({box.point(v)[0], box.point(v)[1], box.point(v)[2]});
  std::vector<Cell> cells;
  std::vector<int> volumes;
  for (std::int32_t c = 0; c < box.cell_count(); ++c) {
    Cell& cell = cells.emplace_back();
    std::ranges::copy(box.nodes(c), cell.begin());
    const auto& x = points;
    volumes.push_back(x[cell[0]].x + x[cell[1]].x + x[cell[2]].x + x[cell[3]].x < 4 ? 1 : 2);
  }
  const auto surface = [](const Vector3& at) {
    const std::array<double, 7> distances{at.x, 2 - at.x, at.y, 1 - at.y, at.z, 1 - at.z, std::abs(at.x - 1)};
    const auto on = std::ranges::find_if(distances, [](double d) { return d < 1e-12; });
    return static_cast<int>(on - distances.begin()) + (at.x > 1 + 1e-12 && on - distances.begin() > 1 ? 11 : 1);
  };
  TetrahedralMesh mesh = mesh_of(points, cells, volumes, surface);
  std::minstd_rand random;
  const auto chance = [&] { return by * (static_cast<double>(random() % 2001) / 1000 - 1); };
  for (Vector3& p : mesh.points) {
    const auto inside = [](double t, double end) { return t > 1e-12 && t < end - 1e-12; };
    const std::size_t v = &p - mesh.points.data();
    if (mesh.dimensions[v] < 2) continue;
    const Vector3 old = p;
    if (inside(p.x, 2) && std::abs(p.x - 1) > 1e-12) p.x += chance();
    if (inside(p.y, 1)) p.y += chance();
    if (inside(p.z, 1)) p.z += chance();
    for (const std::int32_t cell : mesh.cells.at(static_cast<std::int32_t>(v)))
      if (volume(mesh, mesh.cells.vertices(cell)) < 1e-6) p = old;
  }
  return mesh;
}

}  // namespace

TEST_CASE("quality is that of the smallest or largest dihedral angle") {
  const double height = 0.1;
  const std::array<Vector3, 4> flat{{{1, 0, height}, {0, 1, 0}, {0, -1, 0}, {-1, 0, height}}};
  CHECK(tetrahedron_quality({{{1, 1, 1}, {-1, 1, -1}, {1, -1, -1}, {-1, -1, 1}}}) == Approx(-1.0 / 3));
  CHECK(tetrahedron_quality(flat) == Approx(-1 / (1 + height * height)));
  CHECK(corner_quality({1, 0, 0}, {0, 1, 0}, {0, 0, 1}) == Approx(0));
  CHECK(tetrahedron_quality({flat[0], flat[1], flat[3], flat[2]}) == inverted);
}

TEST_CASE("edges are removed where that opens angles") {
  SUBCASE("three cells become two") {
    TetrahedralMesh mesh = around_axis(6, {0, 120, 240}, true);
    const auto before = measures(mesh);
    CHECK(!remove_edge(mesh, 2, 3));  // on the surface, where it has a bend
    REQUIRE(remove_edge(mesh, 0, 1));
    CHECK(count(mesh) == 2);
    CHECK(measures(mesh).at({3, 1}) == Approx(before.at({3, 1})));
    check_conforming(mesh);
    CHECK(!remove_edge(mesh, 0, 1));
  }
  SUBCASE("six cells become eight") {
    TetrahedralMesh mesh = around_axis(8, {0, 60, 120, 180, 240, 300}, true);
    REQUIRE(remove_edge(mesh, 0, 1));
    CHECK(count(mesh) == 8);
    check_conforming(mesh);
  }
  SUBCASE("not where angles close, nor on curves") {
    TetrahedralMesh mesh = around_axis(0.5, {0, 120, 240}, true);
    CHECK(!remove_edge(mesh, 0, 1));
    mesh = around_axis(6, {0, 120, 240}, true);
    mesh.edges.add({1, 0}, 1);
    CHECK(!remove_edge(mesh, 0, 1));
  }
}

TEST_CASE("a flat cell at a plane surface goes") {
  // Square of vertices 0 to 3, with 2 and 3 negligibly lower, above a pyramid.
  const auto flat_at_pyramid = [](double down) {
    const std::vector<Vector3> points{{0, -1, 0}, {0, 1, 0}, {-1, 0, -down}, {1, 0, -down}, {0, 0, -2}};
    return mesh_of(points, {{0, 1, 2, 3}, {0, 3, 2, 4}, {1, 2, 3, 4}}, {1, 1, 1},
                   [](const Vector3& at) { return at.z > -0.4 ? 1 : 2; });
  };
  TetrahedralMesh mesh = flat_at_pyramid(1e-5);
  check_conforming(mesh);
  const auto before = measures(mesh);
  REQUIRE(remove_edge(mesh, 0, 1));
  CHECK(count(mesh) == 2);
  CHECK(mesh.facets.around({2, 3}).size() == 2);
  CHECK(measures(mesh).at({2, 1}) == Approx(before.at({2, 1})));
  CHECK(measures(mesh).at({3, 1}) == Approx(before.at({3, 1})).epsilon(1e-4));
  check_conforming(mesh);
  mesh = flat_at_pyramid(0.5);  // there the surface has a ridge
  CHECK(!remove_edge(mesh, 0, 1));
}

TEST_CASE("two cells become three around a new edge") {
  const auto two = [](double height) {
    return mesh_of({{0, 0, -height}, {1, 0, 0}, {-0.5, 0.9, 0}, {-0.5, -0.9, 0}, {0, 0, height}},
                   {{0, 1, 2, 3}, {1, 2, 3, 4}});
  };
  TetrahedralMesh mesh = two(0.1);
  const auto before = measures(mesh);
  REQUIRE(swap_facet(mesh, 0, 0));
  CHECK(count(mesh) == 3);
  CHECK(measures(mesh).at({3, 1}) == Approx(before.at({3, 1})));
  check_conforming(mesh);
  mesh = two(1);
  CHECK(!swap_facet(mesh, 0, 0));
  mesh = two(0.1);
  CHECK(!swap_facet(mesh, 0, 1));  // at the surface
  mesh.facets.add({1, 2, 3}, 2);
  CHECK(!swap_facet(mesh, 0, 0));  // between volumes
}

TEST_CASE("vertices move to where angles are larger, and stay on their surface") {
  SUBCASE("inside") {
    TetrahedralMesh mesh =
        mesh_of({{0, 0, -1}, {1, 0, 0}, {-0.5, 0.9, 0}, {-0.5, -0.9, 0}, {0, 0, 1}, {0.6, 0, 0.3}},
                {{0, 1, 2, 5}, {0, 2, 3, 5}, {0, 3, 1, 5}, {5, 1, 2, 4}, {5, 2, 3, 4}, {5, 3, 1, 4}});
    const auto before = measures(mesh);
    const double angle = smallest_dihedral_angle(mesh);
    CHECK(smooth_vertex(mesh, 5));
    CHECK(smallest_dihedral_angle(mesh) > 2 * angle);
    CHECK(measures(mesh).at({3, 1}) == Approx(before.at({3, 1})));
    check_conforming(mesh);
    for (int v = 0; v < 5; ++v) CHECK(!smooth_vertex(mesh, v));  // on the surface, which is curved
  }
  SUBCASE("on a sphere") {
    std::vector<Vector3> points{{0, 0, 0}, unit({0.4, 0.1, 0.7})};
    std::vector<Cell> cells;
    for (std::int32_t i = 0; i < 6; ++i) {
      const double angle = i * std::numbers::pi / 3;
      points.push_back(unit({std::cos(angle), std::sin(angle), 1.2}));
      cells.push_back({0, 1, 2 + i, 2 + (i + 1) % 6});
    }
    TetrahedralMesh mesh =
        mesh_of(points, cells, std::vector<int>(6, 1), [](const Vector3& at) { return norm(at) > 0.8 ? 1 : 2; });
    REQUIRE(mesh.dimensions[1] == 2);
    const double angle = smallest_dihedral_angle(mesh);
    CHECK(!smooth_vertex(mesh, 1));  // the sphere is unknown to it
    mesh.project = [](int surface, Vector3& point) {
      point = unit(point);
      return surface == 1;
    };
    CHECK(smooth_vertex(mesh, 1));
    CHECK(smallest_dihedral_angle(mesh) > 1.2 * angle);
    CHECK(norm(mesh.points[1]) == Approx(1).epsilon(1e-12));
    check_conforming(mesh);
  }
}

TEST_CASE("a cell whose edge bends is as good as its corners") {
  TetrahedralMesh mesh = mesh_of({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {{0, 1, 2, 3}});
  const Cell cell = mesh.cells.vertices(0);
  CHECK(mesh.quality(cell) == Approx(-1 / std::sqrt(3.0)));
  // The edge from 0 to 1 begins in the direction (1, 1, 0): 45 degrees to the edge from 0 to 2.
  mesh.bows[0] = {{1, {0, 0.25, 0}}};
  mesh.bows[1] = {{0, {0, 0.25, 0}}};
  CHECK(mesh.quality(cell) < -0.7);
  CHECK(!smooth_vertex(mesh, 0));
}

TEST_CASE("a mesh of two volumes is improved, and stays what it is") {
  TetrahedralMesh mesh = shaken_box(0.11), again = shaken_box(0.11);
  check_conforming(mesh);
  const double angle = smallest_dihedral_angle(mesh);
  const auto before = measures(mesh);
  CHECK(angle < 3);
  CHECK(improve(mesh));
  CHECK(smallest_dihedral_angle(mesh) > 14);
  check_conforming(mesh);
  const auto after = measures(mesh);
  REQUIRE(before.size() == after.size());
  for (const auto& [entity, size] : before) CHECK(after.at(entity) == Approx(size).epsilon(1e-12));
  improve(again);
  CHECK(mesh.points == again.points);
  REQUIRE(mesh.cells.end() == again.cells.end());
  for (std::int32_t c = 0; c < mesh.cells.end(); ++c) CHECK(mesh.cells.vertices(c) == again.cells.vertices(c));
  TetrahedralMesh good = shaken_box(0);
  CHECK(!improve(good));
  for (Vector3& p : good.points) p.z *= 0.02;  // a thin plate has thin cells
  CHECK(smallest_dihedral_angle(good) < 5);
  CHECK(!improve(good));
}

TEST_CASE("edges are split where a curve is much shorter than the cells, and what does not help is undone") {
  const auto with_short_edge = [] {
    TetrahedralMesh mesh = shaken_box(0);
    for (Vector3& p : mesh.points)
      if (p == Vector3{0.75, 0, 0}) p.x = 0.985;        // close to (1, 0, 0), on a curve
    mesh.project = [](int, Vector3&) { return true; };  // surfaces are planes
    return mesh;
  };
  TetrahedralMesh mesh = with_short_edge(), again = with_short_edge();
  const std::size_t vertices = mesh.points.size();
  const auto before = measures(mesh);
  CHECK(smallest_dihedral_angle(mesh) < 4.5);
  CHECK(improve(mesh));
  CHECK(smallest_dihedral_angle(mesh) > 14);
  CHECK(mesh.points.size() > vertices);
  CHECK(mesh.points.size() < vertices + 20);
  check_conforming(mesh);
  for (const auto& [entity, size] : measures(mesh)) CHECK(before.at(entity) == Approx(size).epsilon(1e-12));
  improve(again);
  CHECK(mesh.points == again.points);

  mesh = shaken_box(0);
  const std::int32_t cells = mesh.cells.end();
  for (std::int32_t c = 0; c < cells; ++c)
    for (int i = 0; i < 4; ++i)
      CHECK(!split_edge(mesh, mesh.cells.vertices(c)[i], mesh.cells.vertices(c)[(i + 1) % 4]));
  CHECK(mesh.points.size() == vertices);
  REQUIRE(mesh.cells.end() == cells);
  CHECK(count(mesh) == cells);
  check_conforming(mesh);
  for (std::int32_t c = 0; c < cells; ++c)
    for (const std::int32_t v : mesh.cells.vertices(c)) {
      CHECK(std::ranges::is_sorted(mesh.cells.at(v)));
      CHECK(std::ranges::count(mesh.cells.at(v), c) == 1);
    }
}
