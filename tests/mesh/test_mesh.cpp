#include <doctest/doctest.h>
#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "mesh/box/box.hpp"
#include "mesh/dofs/function_space.hpp"
#include "mesh/dofs/ordering.hpp"
#include "mesh/dofs/space_filling_curve.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "mesh/geometry.hpp"
#include "tests/threads.hpp"

using namespace femcg::mesh;
using femcg::tests::Threads;

namespace {

Mesh small_box(CellShape shape, double distort = 0.2) { return make_box({shape, {3, 2, 4}, {1.5, 1.0, 2.0}, distort}); }

double volume(const Mesh& mesh) {
  const Quadrature rule = cell_quadrature(mesh.shape, mesh.order * mesh.dimension() + 1);
  const GeometryTables tables(mesh, rule.points);
  CellGeometry geometry(tables);
  double sum = 0;
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    geometry.move_to(mesh, cell);
    for (int q = 0; q < rule.size(); ++q) {
      CHECK(geometry.determinant(q) > 0);
      sum += rule.weights[q] * geometry.determinant(q);
    }
  }
  return sum;
}

/// Applies a random symmetry to every cell, orientation-preserving or not: renumbers the vertices within the cell.
void shuffle_cells(Mesh& mesh) {
  std::mt19937 random(5);
  const int n = mesh.nodes_per_cell(), d = mesh.dimension();
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    std::int32_t* nodes = mesh.cell_nodes.data() + cell * n;
    const std::vector<std::int32_t> old(nodes, nodes + n);
    if (is_tensor(mesh.shape)) {
      std::vector<int> axes(d);
      std::iota(axes.begin(), axes.end(), 0);
      std::shuffle(axes.begin(), axes.end(), random);
      const int flips = std::uniform_int_distribution<int>(0, n - 1)(random);
      for (int v = 0; v < n; ++v) {
        int image = 0;
        for (int axis = 0; axis < d; ++axis) image |= (v >> axis & 1) << axes[axis];
        nodes[v] = old[image ^ flips];
      }
    } else {
      std::shuffle(nodes, nodes + n, random);
    }
  }
  mesh.boundaries.clear();
}

}  // namespace

TEST_CASE("a box has its volume, its sides and its cells, distorted or not") {
  for (const CellShape shape : all_cell_shapes)
    for (const double distort : {0.0, most_distortion(shape)}) {
      CAPTURE(name(shape));
      Mesh mesh = small_box(shape, distort);
      validate(mesh);
      CHECK(mesh.warnings.empty());
      const int d = mesh.dimension();
      CHECK(volume(mesh) == doctest::Approx(d == 2 ? 1.5 : 3.0).epsilon(1e-13));
      CHECK(mesh.node_count() == (d == 2 ? 4 * 3 : 4 * 3 * 5));
      const int split = is_tensor(shape) ? 1 : d == 2 ? 2 : 6;
      CHECK(mesh.cell_count() == (d == 2 ? 6 : 24) * split);
      CHECK(mesh.boundaries.size() == 2U * d);
      std::size_t facets_on_sides = 0;
      for (const BoundaryGroup& group : mesh.boundaries) facets_on_sides += group.facets.size();
      CHECK(facets_on_sides == boundary_facets(mesh).size());
      CHECK(mesh.boundaries[1].name == "right");
      const LagrangeBasis corner(shape, 1, NodeFamily::equispaced);
      for (const BoundaryFacet& facet : mesh.boundaries[1].facets)
        for (const int v : facets(shape)[facet.facet].vertices) CHECK(mesh.point(mesh.nodes(facet.cell)[v])[0] == 1.5);
    }
  CHECK_THROWS_AS(make_box({CellShape::triangle, {0, 1, 1}}), std::invalid_argument);
  CHECK_THROWS_AS(make_box({CellShape::triangle, {1, 1, 1}, {1, -1, 1}}), std::invalid_argument);
  CHECK_THROWS_WITH(make_box({CellShape::triangle, {1, 1, 1}, {1, 1, 1}, 0.31}),
                    doctest::Contains("distort must be from 0 to 0.3 of a cell in 2D, not 0.31"));
  CHECK_THROWS_WITH(make_box({CellShape::tetrahedron, {1, 1, 1}, {1, 1, 1}, 0.3}),
                    doctest::Contains("distort must be from 0 to 0.2 of a cell in 3D, not 0.3"));
  CHECK_THROWS_WITH(
      make_box({CellShape::tetrahedron, {2000, 2000, 2000}}),
      doctest::Contains("a box of 2000 x 2000 x 2000 makes 4.8e+10 tetrahedron cells with 8.01e+09 nodes"));
}

TEST_CASE("one cell tells whether the mesh of a box is valid") {
  for (const CellShape shape : all_cell_shapes)
    for (const int refinements : {0, 2})
      for (const double distort : {0.0, most_distortion(shape)})
        for (const double size : {1e-180, 1e-120, 1e-95, 1.0, 1e70, 1e110, 1e160}) {
          INFO(name(shape) << " refined " << refinements << " times, distorted by " << distort << ", of size " << size);
          const BoxOptions options{shape, {4, 3, 5}, {size, 2 * size, size}, distort};
          Mesh mesh = make_box(options);
          for (int r = 0; r < refinements; ++r) mesh = refine(mesh);
          bool valid = true;
          try {
            validate(mesh);
          } catch (const std::runtime_error&) {
            valid = false;
          }
          CHECK(is_valid_box(options, refinements) == (valid && mesh.warnings.empty()));
        }
}

TEST_CASE("however many cells a distorted box has, none turns inside out") {
  for (const CellShape shape : all_cell_shapes) {
    CAPTURE(name(shape));
    const int n = dimension(shape) == 2 ? 400 : 40, d = dimension(shape);
    Mesh mesh = make_box({shape, {n, n, n}, {double(n), double(n), double(n)}, most_distortion(shape)});
    CHECK_NOTHROW(validate(mesh));
    CHECK(mesh.warnings.empty());
    double farthest = 0;
    for (std::int32_t node = 0; node < mesh.node_count(); ++node) {
      double squared = 0;
      for (int i = 0; i < d; ++i) squared += std::pow(mesh.point(node)[i] - std::round(mesh.point(node)[i]), 2);
      farthest = std::max(farthest, std::sqrt(squared));
    }
    CHECK(farthest == doctest::Approx(most_distortion(shape)).epsilon(1e-12));
  }
}

TEST_CASE("a space has the dofs that counting vertices, edges, faces and cells gives") {
  // On an nx x ny (x nz) tensor box: (p nx + 1)(p ny + 1)(...).
  for (int p = 1; p <= 4; ++p) {
    CHECK(FunctionSpace(small_box(CellShape::quadrilateral), p).dof_count() == (3 * p + 1) * (2 * p + 1));
    CHECK(FunctionSpace(small_box(CellShape::triangle), p).dof_count() == (3 * p + 1) * (2 * p + 1));
    CHECK(FunctionSpace(small_box(CellShape::hexahedron), p).dof_count() == (3 * p + 1) * (2 * p + 1) * (4 * p + 1));
    CHECK(FunctionSpace(small_box(CellShape::tetrahedron), p).dof_count() == (3 * p + 1) * (2 * p + 1) * (4 * p + 1));
  }
}

TEST_CASE("dofs are numbered as cells meet them along their lattices, by any number of threads") {
  for (const CellShape shape : all_cell_shapes)
    for (int p = 1; p <= 4; ++p) {
      CAPTURE(name(shape));
      CAPTURE(p);
      Mesh mesh = small_box(shape);
      shuffle_cells(mesh);
      const auto numbered = [&](int threads) {
        const Threads so_many(threads);
        return std::pair(FunctionSpace(mesh, p), boundary_facets(mesh));
      };
      const auto [one, boundary] = numbered(1);
      const auto [five, boundary_of_five] = numbered(5);
      CHECK(one.list_dofs() == five.list_dofs());
      const auto same = [](const BoundaryFacet& a, const BoundaryFacet& b) {
        return a.cell == b.cell && a.facet == b.facet;
      };
      CHECK(std::ranges::equal(boundary, boundary_of_five, same));
      // Dofs that a cell visits first have consecutive numbers.
      std::int32_t met = 0;
      for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
        std::set<std::int32_t> fresh;
        for (const std::int32_t dof : one.dofs(cell))
          if (dof >= met) fresh.insert(dof);
        if (!fresh.empty()) CHECK(*fresh.rbegin() - met == static_cast<std::int32_t>(fresh.size()) - 1);
        met += static_cast<std::int32_t>(fresh.size());
      }
      CHECK(met == one.dof_count());
    }
}

TEST_CASE("a space of a lower degree made from a finer one has the numbers of one made afresh") {
  for (const CellShape shape : all_cell_shapes)
    for (int p = 1; p <= 4; ++p)
      for (int q = 1; q <= p; ++q) {
        CAPTURE(name(shape));
        CAPTURE(p);
        CAPTURE(q);
        Mesh mesh = small_box(shape);
        shuffle_cells(mesh);
        FunctionSpace fine(mesh, p);
        std::vector<std::int32_t> order(static_cast<std::size_t>(fine.dof_count()));
        std::iota(order.rbegin(), order.rend(), 0);
        fine.renumber(order);
        CHECK(FunctionSpace(fine, q).list_dofs() == FunctionSpace(mesh, q).list_dofs());
        CHECK_THROWS_WITH(FunctionSpace(fine, p + 1), "a space of a lower degree is made from one of a higher");
      }
}

TEST_CASE("more dofs than 32 bits number are refused before memory is taken for them") {
  // The nodes are not accessed: the number of cells suffices.
  Mesh mesh;
  mesh.shape = CellShape::hexahedron;
  mesh.coordinates.assign(3, 0.0);
  constexpr int cells = 5'000'000;
  mesh.cell_regions.assign(cells, 0);
  CHECK_THROWS_WITH_AS(
      FunctionSpace(mesh, 8),
      "5000000 cells of degree 8 have 2450000000 or more degrees of freedom, but no more than 2^31 - 1 "
      "can be numbered; take fewer cells or a lower degree",
      std::length_error);
}

TEST_CASE("cells agree on the points of shared dofs, however each cell is turned") {
  for (const CellShape shape : all_cell_shapes)
    for (const NodeFamily family : {NodeFamily::equispaced, NodeFamily::gauss_lobatto})
      for (int p = 1; p <= 8; ++p) {
        CAPTURE(name(shape));
        CAPTURE(p);
        Mesh mesh = small_box(shape);
        const std::int32_t expected = FunctionSpace(mesh, p, family).dof_count();
        shuffle_cells(mesh);
        const FunctionSpace space(mesh, p, family);
        CHECK(space.dof_count() == expected);
        const std::vector<double> points = space.dof_points();
        const GeometryTables tables(mesh, space.basis().nodes());
        CellGeometry geometry(tables);
        double worst = 0;
        std::vector<char> seen(space.dof_count(), 0);
        for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
          geometry.move_to(mesh, cell);
          for (int a = 0; a < space.dofs_per_cell(); ++a) {
            const std::int32_t dof = space.dofs(cell)[a];
            seen[dof] = 1;
            for (int i = 0; i < mesh.dimension(); ++i)
              worst = std::max(worst, std::abs(geometry.point(a)[i] - points[dof * mesh.dimension() + i]));
          }
        }
        CHECK(worst < 1e-13);
        CHECK(std::count(seen.begin(), seen.end(), 1) == space.dof_count());
      }
}

TEST_CASE("facet nodes are the lattice nodes on the facet") {
  for (const CellShape shape : all_cell_shapes)
    for (int p = 1; p <= 4; ++p) {
      const Mesh mesh = small_box(shape);
      const FunctionSpace space(mesh, p);
      const int on_facet = dimension(shape) == 2 ? p + 1 : is_tensor(shape) ? (p + 1) * (p + 1) : (p + 1) * (p + 2) / 2;
      for (std::size_t f = 0; f < facets(shape).size(); ++f)
        CHECK(space.facet_nodes(static_cast<int>(f)).size() == std::size_t(on_facet));
    }
}

TEST_CASE("mirrored cells are turned round, flat and tangled ones refused with their place") {
  for (const CellShape shape : all_cell_shapes) {
    Mesh mesh = small_box(shape);
    const double expected = volume(mesh);
    shuffle_cells(mesh);
    validate(mesh);
    CHECK(mesh.warnings.size() == 1);
    CHECK(volume(mesh) == doctest::Approx(expected));
  }
  Mesh flat = make_box({CellShape::quadrilateral, {2, 2, 1}});
  // Moving the middle node to a corner inverts one cell and flattens two.
  for (int i = 0; i < 2; ++i) flat.coordinates[4 * 2 + i] = flat.coordinates[0 + i];
  CHECK_THROWS_WITH(validate(flat), doctest::Contains("3 of 4 cells are inverted or degenerate"));
  CHECK_THROWS_WITH(validate(flat), doctest::Contains("least determinant"));
  Mesh tangled = make_box({CellShape::hexahedron, {3, 3, 3}});
  std::swap(tangled.cell_nodes[0], tangled.cell_nodes[1]);
  CHECK_THROWS_WITH(validate(tangled), doctest::Contains("1 of 27 cells"));
  Mesh wrong_index = make_box({CellShape::triangle, {1, 1, 1}});
  wrong_index.cell_nodes[0] = 99;
  CHECK_THROWS_WITH(validate(wrong_index), doctest::Contains("node 99"));
  Mesh infinite = make_box({CellShape::triangle, {1, 1, 1}});
  infinite.coordinates[0] = INFINITY;
  CHECK_THROWS_WITH(validate(infinite), doctest::Contains("not a finite number"));
  CHECK_THROWS_WITH(
      [] {
        Mesh empty;
        validate(empty);
      }(),
      doctest::Contains("no cells"));
}

TEST_CASE("cells that lie inside out over their neighbours are refused, in whichever sense the others are listed") {
  for (const CellShape shape : all_cell_shapes) {
    CAPTURE(name(shape));
    // The last layer of cells is folded back over the one before it; its facets there are those of 2 (x 2) rectangles.
    Mesh folded = make_box({shape, {5, 2, 2}, {5, 1, 1}});
    const int d = folded.dimension(), facet_count = d == 2 ? 2 : is_tensor(shape) ? 4 : 8;
    for (std::int32_t node = 0; node < folded.node_count(); ++node)
      if (double& x = folded.coordinates[node * d]; x == 5) x = 3;
    const std::string sentence = std::to_string(facet_count) + " of " + std::to_string(folded.cell_count()) +
                                 " cells are inverted (they lie folded";
    Mesh mirrored = folded, shuffled = folded;
    CHECK_THROWS_WITH(validate(folded), doctest::Contains(sentence.c_str()));
    CHECK_THROWS_WITH(validate(folded), doctest::Contains("cell at (3."));  // still: nothing has been turned
    for (std::int32_t node = 0; node < mirrored.node_count(); ++node) mirrored.coordinates[node * d] *= -1;
    CHECK_THROWS_WITH(validate(mirrored), doctest::Contains(sentence.c_str()));
    CHECK_THROWS_WITH(validate(mirrored), doctest::Contains("cell at (-3."));
    shuffle_cells(shuffled);
    CHECK_THROWS_WITH(validate(shuffled), doctest::Contains("they lie folded"));
  }
}

TEST_CASE("a mesh that is mirrored as a whole is turned round, curved cells and boundary facets included") {
  for (const CellShape shape : all_cell_shapes) {
    CAPTURE(name(shape));
    Mesh mesh = small_box(shape);
    const double expected = volume(mesh);
    const FunctionSpace lattice(mesh, 3, NodeFamily::equispaced);
    mesh.coordinates = lattice.dof_points();
    const auto nodes = lattice.list_dofs();
    mesh.cell_nodes.assign(nodes.begin(), nodes.end());
    mesh.order = 3;
    for (std::size_t i = 0; i < mesh.coordinates.size(); i += mesh.dimension()) mesh.coordinates[i] *= -1;
    validate(mesh);
    REQUIRE(mesh.warnings.size() == 1);
    CHECK(volume(mesh) == doctest::Approx(expected));
    const std::vector<int> corners = Lattice(shape, 3).vertex_nodes();
    for (const BoundaryFacet& facet : mesh.boundaries[1].facets)
      for (const int v : facets(shape)[facet.facet].vertices)
        CHECK(mesh.point(mesh.nodes(facet.cell)[corners[v]])[0] == -1.5);
  }
}

TEST_CASE("parts that share no vertex are counted, and so are nodes in one place") {
  Mesh mesh = make_box({CellShape::quadrilateral, {2, 1, 1}});
  // The second cell gets its own copies of the nodes of the common edge.
  const Mesh joined = mesh;
  for (const int corner : {0, 2}) {
    const std::int32_t node = mesh.cell_nodes[4 + corner];
    mesh.cell_nodes[4 + corner] = mesh.node_count();
    mesh.coordinates.push_back(joined.point(node)[0]);
    mesh.coordinates.push_back(joined.point(node)[1]);
  }
  validate(mesh);
  CHECK(cell_components(mesh) == std::vector<std::int32_t>{0, 1});
  REQUIRE(mesh.warnings.size() == 2);
  CHECK(mesh.warnings[0].find("2 nodes lie where another node does, the first at (0.5, 0)") != std::string::npos);
  CHECK(mesh.warnings[1].find("2 parts") != std::string::npos);
}

TEST_CASE("of many nodes those in one place are counted, whatever the sign of a zero") {
  Mesh mesh = make_box({CellShape::triangle, {300, 300, 1}, {1, 1, 1}, 0.3});
  for (BoundaryFacet facet : mesh.boundaries[0].facets) {
    // A second node on the left side, at x = -0, for one of the cells there.
    std::int32_t& node = mesh.cell_nodes[std::int64_t{facet.cell} * 3];
    mesh.coordinates.push_back(-mesh.point(node)[0]);
    mesh.coordinates.push_back(mesh.point(node)[1]);
    REQUIRE(mesh.point(node)[0] == 0);
    node = mesh.node_count() - 1;
  }
  validate(mesh);
  REQUIRE(!mesh.warnings.empty());
  CHECK(mesh.warnings[0].starts_with("300 nodes lie where another node does"));
}

namespace {

/// Quadrilaterals with sides along the axes, each with nodes of its own where `of` gives none: corners (x, y, width,
/// height).
Mesh mesh_of_rectangles(const std::vector<std::array<double, 4>>& rectangles) {
  Mesh mesh;
  mesh.region_names = {"all"};
  std::map<std::array<double, 2>, std::int32_t> nodes;
  for (const auto& [x, y, width, height] : rectangles) {
    for (int corner = 0; corner < 4; ++corner) {
      const std::array<double, 2> at{x + (corner % 2) * width, y + (corner / 2) * height};
      const auto [entry, is_new] = nodes.try_emplace(at, mesh.node_count());
      if (is_new) mesh.coordinates.insert(mesh.coordinates.end(), at.begin(), at.end());
      mesh.cell_nodes.push_back(entry->second);
    }
    mesh.cell_regions.push_back(0);
  }
  return mesh;
}

std::string refusal_of(Mesh mesh) {
  try {
    validate(mesh);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("hanging nodes, parts that touch or overlap, and nodes that are nearly in one place") {
  // One cell beside two of half its height.
  CHECK(refusal_of(mesh_of_rectangles({{0, 0, 1, 1}, {1, 0, 1, 0.5}, {1, 0.5, 1, 0.5}}))
            .starts_with("1 vertex lies inside a facet of another cell, the first at (1, 0.5) (hanging nodes)"));
  // The same without a common vertex: parts that touch.
  Mesh touching = mesh_of_rectangles({{0, 0, 1, 1}, {1, 0.25, 1, 0.5}});
  validate(touching);
  REQUIRE(touching.warnings.size() == 2);
  CHECK(
      touching.warnings[0].starts_with("2 vertices of one part lie inside facets of another, the first at (1, 0.25)"));
  CHECK(refusal_of(mesh_of_rectangles({{0, 0, 1, 1}, {0.9, 0.25, 1, 0.5}})).starts_with("parts of the mesh overlap"));
  CHECK(refusal_of(mesh_of_rectangles({{0, 0, 3, 1}, {1, -1, 1, 3}}))
            .starts_with("parts of the mesh overlap"));  // crossed
  for (const double shift : {0.1, 0.25, 0.5, 0.9})       // sides in common, by which no vertex lies within a cell
    CHECK(
        refusal_of(mesh_of_rectangles({{0, 0, 1, 1}, {1 - shift, 0, 1, 1}})).starts_with("parts of the mesh overlap"));
  // A gap within the rounding of a file is none, one of a tenth is.
  for (const double gap : {0.0, 1e-12, 1e-6, 0.1, -1e-6}) {
    CAPTURE(gap);
    Mesh slit = mesh_of_rectangles({{0, 0, 1, 1}, {1 + gap, 0, 1, 1}});
    if (gap == 0)  // nodes of its own all the same
      for (const int corner : {0, 2}) {
        const double y = corner == 0 ? 0 : 1;
        slit.cell_nodes[4 + corner] = slit.node_count();
        slit.coordinates.insert(slit.coordinates.end(), {1, y});
      }
    validate(slit);
    CHECK(slit.warnings.front().starts_with("2 nodes lie where another node does") == (gap < 0.1));
  }
  // A sheet a million times thinner than its cells are wide fits together.
  Mesh thin = mesh_of_rectangles({{0, 0, 1, 1e-6}, {1, 0, 1, 1e-6}, {0, 1e-6, 1, 1e-6}, {1, 1e-6, 1, 1e-6}});
  validate(thin);
  CHECK(thin.warnings.empty());
  // In space, a triangle of a small tetrahedron on the side of a large one.
  Mesh stacked = make_box({CellShape::tetrahedron, {1, 1, 1}});
  const auto first = static_cast<std::int32_t>(stacked.node_count());
  stacked.coordinates.insert(stacked.coordinates.end(), {0.2, 0.1, 1, 0.4, 0.1, 1, 0.2, 0.3, 1, 0.2, 0.1, 1.5});
  for (std::int32_t v = 0; v < 4; ++v) stacked.cell_nodes.push_back(first + v);
  stacked.cell_regions.push_back(0);
  validate(stacked);
  CHECK(stacked.warnings.front().starts_with("3 vertices of one part lie inside facets of another"));
}

TEST_CASE("refinement keeps volume, sides, regions and curved geometry") {
  for (const CellShape shape : all_cell_shapes)
    for (const bool curved : {false, true}) {
      CAPTURE(name(shape));
      Mesh mesh = small_box(shape, 0.1);
      if (curved) {
        // Order 3 by a space of degree 3, then bent.
        const FunctionSpace lattice(mesh, 3, NodeFamily::equispaced);
        mesh.coordinates = lattice.dof_points();
        const auto nodes = lattice.list_dofs();
        mesh.cell_nodes.assign(nodes.begin(), nodes.end());
        mesh.order = 3;
        for (std::int32_t node = 0; node < mesh.node_count(); ++node) {
          double* x = mesh.coordinates.data() + std::int64_t{node} * mesh.dimension();
          x[1] += 0.1 * x[0] * x[0];
        }
      }
      Mesh refined = refine(mesh);
      validate(refined);
      CHECK(refined.warnings.empty());
      CHECK(refined.cell_count() == mesh.cell_count() * (mesh.dimension() == 2 ? 4 : 8));
      CHECK(volume(refined) == doctest::Approx(volume(mesh)).epsilon(1e-12));
      for (std::size_t g = 0; g < mesh.boundaries.size(); ++g)
        CHECK(refined.boundaries[g].facets.size() ==
              mesh.boundaries[g].facets.size() * (mesh.dimension() == 2 ? 2 : 4));
      CHECK(boundary_facets(refined).size() == boundary_facets(mesh).size() * (mesh.dimension() == 2 ? 2 : 4));
      const std::vector<int> corners = Lattice(shape, refined.order).vertex_nodes();
      for (const BoundaryFacet& facet : refined.boundaries[0].facets)
        for (const int v : facets(shape)[facet.facet].vertices)
          CHECK(std::abs(refined.point(refined.nodes(facet.cell)[corners[v]])[0]) < 1e-14);
    }
}

TEST_CASE("repeated refinement keeps tetrahedra from going flat") {
  const auto flattest = [](const Mesh& mesh) {
    const GeometryTables tables(mesh, cell_quadrature(mesh.shape, 1).points);
    CellGeometry geometry(tables);
    double worst = 1;
    for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
      geometry.move_to(mesh, cell);
      const Eigen::Map<const Eigen::Matrix3d> transposed(geometry.jacobian(0));
      worst = std::min(worst, geometry.determinant(0) / std::pow(transposed.rowwise().norm().maxCoeff(), 3));
    }
    return worst;
  };
  Mesh mesh = small_box(CellShape::tetrahedron, 0.2);
  const double before = flattest(mesh);
  for (int r = 0; r < 3; ++r) mesh = refine(mesh);
  CHECK(flattest(mesh) > 0.5 * before);
}

TEST_CASE("cells along the Hilbert curve keep the mesh, and neighbours in number are neighbours in space") {
  for (const CellShape shape : {CellShape::quadrilateral, CellShape::hexahedron}) {
    Mesh mesh = make_box({shape, {16, 16, 16}});
    const double before = volume(mesh);
    order_cells_along_curve(mesh);
    validate(mesh);
    CHECK(volume(mesh) == doctest::Approx(before));
    // On a power-of-two grid successive cells share a facet.
    for (std::int32_t cell = 1; cell < mesh.cell_count(); ++cell) {
      const auto a = cell_centre(mesh, cell - 1), b = cell_centre(mesh, cell);
      CHECK(std::abs(a[0] - b[0]) + std::abs(a[1] - b[1]) + std::abs(a[2] - b[2]) == doctest::Approx(1.0 / 16));
    }
    for (const BoundaryFacet& facet : mesh.boundaries[0].facets)
      for (const int v : facets(shape)[facet.facet].vertices) CHECK(mesh.point(mesh.nodes(facet.cell)[v])[0] == 0);
  }
}

TEST_CASE("the order along the Hilbert curve has every cell once, and is the same for any number of threads") {
  for (const CellShape shape : all_cell_shapes) {
    Mesh mesh = make_box({shape, {17, 13, 11}, {1, 1, 1}, 0.2});
    shuffle_cells(mesh);
    std::vector<std::int32_t> of_one;
    for (const int threads : {1, 2, 3, 5}) {
      const Threads so_many(threads);
      const std::vector<std::int32_t> order = cells_along_curve(mesh);
      if (threads == 1) of_one = order;
      CHECK(order == of_one);
    }
    std::ranges::sort(of_one);
    for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) REQUIRE(of_one[cell] == cell);
    REQUIRE(std::ssize(of_one) == mesh.cell_count());
  }
}

TEST_CASE("reverse Cuthill-McKee orders a shuffled path back to a band of one") {
  constexpr std::int32_t n = 101;
  std::vector<std::int32_t> label(n);
  std::iota(label.begin(), label.end(), 0);
  std::shuffle(label.begin(), label.end(), std::mt19937(3));
  std::vector<std::set<std::int32_t>> rows(n);
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t j = std::max(0, i - 1); j <= std::min(n - 1, i + 1); ++j) rows[label[i]].insert(label[j]);
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> columns;
  for (const auto& row : rows) {
    columns.insert(columns.end(), row.begin(), row.end());
    offsets.push_back(static_cast<std::int64_t>(columns.size()));
  }
  CHECK(bandwidth(offsets, columns) > 10);
  const std::vector<std::int32_t> order = reverse_cuthill_mckee(offsets, columns);
  CHECK(std::set<std::int32_t>(order.begin(), order.end()).size() == n);
  for (std::int32_t i = 0; i + 1 < n; ++i) CHECK(std::abs(order[label[i]] - order[label[i + 1]]) == 1);
}
