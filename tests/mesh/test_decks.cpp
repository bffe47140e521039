// Abaqus, Nastran and universal files: what is read, and that anything skipped is reported.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "mesh/element/quadrature.hpp"
#include "mesh/geometry.hpp"
#include "mesh/gmsh/decks/deck_mesh.hpp"
#include "mesh/gmsh/imported_mesh.hpp"
#include "mesh/gmsh/length_unit.hpp"
#include "tests/scratch_folder.hpp"

using namespace femcg;
using doctest::Approx;

namespace {

template <class Read>
std::string refusal(const Read& read, const std::string& text) {
  try {
    read(text, 1);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}
std::string inp_refusal(const std::string& text) { return refusal(mesh::read_inp, text); }
std::string bdf_refusal(const std::string& text) { return refusal(mesh::read_bdf, text); }
std::string unv_refusal(const std::string& text) { return refusal(mesh::read_unv, text); }

mesh::Mesh mesh_of(const mesh::RawMesh& raw) {
  mesh::Mesh made = mesh::to_mesh(raw, {});
  mesh::validate(made);
  return made;
}

double volume(const mesh::Mesh& made) {
  const mesh::Quadrature rule = mesh::cell_quadrature(made.shape, 4);
  const mesh::GeometryTables tables(made, rule.points);
  mesh::CellGeometry geometry(tables);
  double sum = 0;
  for (std::int32_t cell = 0; cell < made.cell_count(); ++cell) {
    geometry.move_to(made, cell);
    for (int q = 0; q < rule.size(); ++q) sum += rule.weights[q] * geometry.determinant(q);
  }
  return sum;
}

/// A row of cubes along x, as GRID cards in fields of eight columns.
std::string bdf_grids(int cubes) {
  std::string text;
  int label = 0;
  for (int z = 0; z < 2; ++z)
    for (int y = 0; y < 2; ++y)
      for (int x = 0; x <= cubes; ++x) text += fmt::format("GRID    {:8}        {:8}{:8}{:8}\n", ++label, x, y, z);
  return text;
}

const std::string tetrahedron = "GRID,1,,0.,0.,0.\nGRID,2,,1.,0.,0.\nGRID,3,,0.,1.,0.\nGRID,4,,0.,0.,1.\n";

}  // namespace

TEST_CASE("Nastran's cards in any case, with tabs, commas, large fields and lines that go on without a mark") {
  const std::string upper =
      "CHEXA          1       1       1       2       5       4       7       8\n              11      10\n";
  const std::string lower =
      "chexa          2       1       2       3       6       5       8       9+e1\n+E1           12      11\n";
  const std::string tabs = "CHEXA\t2\t1\t2\t3\t6\t5\t8\t9\n\t12\t11\n";
  const std::string commas = "CHEXA,2,1,2,3,6,5,8,9,+a\n+a,12,11 $ the end\n";
  const std::string large =
      "CHEXA*                 2               1               2               3*A\n"
      "*A                     6               5               8               9\n"
      "*                     12              11\n";
  for (const std::string& second : {lower, tabs, commas, large}) {
    const mesh::Mesh made = mesh_of(mesh::read_bdf(
        "SOL 101\nCEND\nTITLE = GRID\nBEGIN  BULK\n$\n" + bdf_grids(2) + upper + second + "ENDDATA\nCHEXA\n", 1));
    CHECK(made.cell_count() == 2);
    CHECK(volume(made) == Approx(2));
    CHECK(made.warnings.size() == 1);  // no group names the cells
  }
  CHECK(mesh::read_bdf(tetrahedron + "CTETRA,1,5,1,2,3,4", 1).cells[0].entity == 5);  // no BEGIN BULK, no ENDDATA
  CHECK(mesh::read_bdf("BEGIN BULK\n" + tetrahedron + "CTETRA,1,5,1,2,3,4", 1)
            .warnings.at(0)
            .starts_with("the file has no ENDDATA"));
  CHECK(mesh::read_bdf("GRID,1,,0.,0.,5.0-1\nCTRIA3,1,1,1,1,1\n", 2).point(1)[2] == 1.0);
}

TEST_CASE("Nastran's coordinate frames") {
  // A cylindrical frame around the axis x = 1, turned so that its z is y; in it a frame by three points.
  const std::string frames =
      "CORD2C,1,0,1.,0.,0.,1.,1.,0.\n,2.,0.,0.\nCORD2R,2,1,1.,90.,0.,1.,90.,1.\n,2.,90.,0.\nCORD1S,3,11,12,13\n";
  const std::string grids =
      "GRID,1,1,2.,90.,3.\nGRID,2,2,1.,2.,3.\nGRID,11,,0.,0.,0.\nGRID,12,,0.,0.,1.\nGRID,13,,1.,0.,0.\n"
      "GRID,4,3,2.,90.,90.\nGRDSET,,1\nGRID,5,,1.,0.,0.\nGRID,6,0,1.,0.,0.\n";
  // CP of GRDSET applies to all cards that leave it empty, including the frame's own points.
  const mesh::RawMesh raw =
      mesh::read_bdf(frames + grids.substr(0, grids.find("GRDSET")) + "GRID,6,0,1.,0.,0.\nCTRIA3,1,1,1,2,4\n", 1);
  const auto near = [&](std::uint64_t node, double x, double y, double z) {
    CAPTURE(node);
    CHECK(std::abs(raw.point(node)[0] - x) + std::abs(raw.point(node)[1] - y) + std::abs(raw.point(node)[2] - z) <
          1e-12);
  };
  near(1, 1, 3, -2);   // r = 2 at 90 degrees from x about y: towards -z
  near(2, -1, 3, -2);  // origin (1, 0, -1), z is y, x is -z, y = z cross x is -x
  near(6, 0, 2, 0);
  near(7, 1, 0, 0);
  CHECK(mesh::read_bdf("GRDSET,,7\nGRID,1,0,1.,0.,0.\nCTRIA3,1,1,1,1,1\n", 1).point(1)[0] == 1);
  CHECK(bdf_refusal("GRID,1,7,1.,0.,0.\nCTRIA3,1,1,1,1,1\n").starts_with("line 1: there is no frame 7"));
  CHECK(bdf_refusal("CORD2R,1,1,0.,0.,0.,0.,0.,1.\n,1.,0.,0.\nGRID,1,1,1.,0.,0.\n")
            .starts_with("line 1: a frame is defined by itself"));
  CHECK(bdf_refusal("CORD2R,1,0,0.,0.,0.,0.,0.,1.\n,0.,0.,2.\nGRID,1,1,1.,0.,0.\n")
            .starts_with("line 1: the three points"));
}

TEST_CASE("what Nastran's bulk data may not say is one sentence with its line") {
  CHECK(bdf_refusal(tetrahedron + "CTETRA,1,1,1,2,3,4\n").empty());
  CHECK(bdf_refusal(tetrahedron + "MAT4,1,160.\nPSOLID,1,1\nSPC1,2,3,1\nPARAM,POST,-1\nCTETRA,1,1,1,2,3,4\n").empty());
  CHECK(bdf_refusal("SOL 153\nCEND\nANALYSIS = HEAT\n" + tetrahedron + "CTETRA,1,1,1,2,3,4\n")
            .starts_with("line 2: case control follows CEND, but no BEGIN BULK"));
  CHECK(bdf_refusal("SOL 153\nCEND\nGRIDS = 1\nBEGIN BULK\n" + tetrahedron + "CTETRA,1,1,1,2,3,4\n").empty());
  CHECK(bdf_refusal(tetrahedron + "CTRIAX6,1,1,1,2,3\n").starts_with("line 5: the card CTRIAX6 is not known"));
  CHECK(bdf_refusal(tetrahedron + "CTETRA,1,1,1,2,3\n")
            .starts_with("line 5: CTETRA 1 has 3 nodes, but its node G4 is left empty"));
  CHECK(
      bdf_refusal(tetrahedron + "CTETRA,1,1,1,2,3,4,1\n").starts_with("line 5: CTETRA 1 has 5 nodes, but its node G6"));
  CHECK(bdf_refusal(tetrahedron + "CTETRA,1,1,1,2,3,7\n") == "line 5: an element uses node 7, which does not exist");
  CHECK(bdf_refusal(tetrahedron + "CTETRA,1,1,1,2,3,4\nCTETRA,1,1,1,2,3,4\n") == "line 6: element 1 is defined twice");
  CHECK(bdf_refusal("GRID,1,,0.,0.,0.\nGRID,1,,0.,0.,0.\nGRID,1,,0.,0.,1.\n")
            .starts_with("line 3: node 1 is defined twice"));
  CHECK(bdf_refusal("+A,1\n").starts_with("line 1: this line continues a card, but there is none"));
  CHECK(bdf_refusal("GRID,1,,0.,0.,0.,,,,+A\n+B,1\n")
            .starts_with("line 2: this line continues 'B', but the line before ends in 'A'"));
  CHECK(bdf_refusal("GRID,1,,0.,zero\n") == "line 1: 'ZERO' is not a number");
  const mesh::RawMesh raw = mesh::read_bdf(tetrahedron + "CTETRA,1,1,1,2,3,4\nCBAR,2,1,1,2\nRBE2,3,1\n", 1);
  REQUIRE(raw.warnings.size() == 2);
  CHECK(raw.warnings[0] == "left out 1 element of type CBAR, which is no cell or facet");
  const mesh::RawMesh glued =
      mesh::read_bdf(tetrahedron + "CTETRA,1,1,1,2,3,4\nMPC,1,1,1,1.,2,1,-1.\nMPC,1,3,1,1.,4,1,-1.\n", 1);
  REQUIRE(glued.warnings.size() == 1);
  CHECK(glued.warnings[0].starts_with("line 6: MPC joins nothing here"));
}

namespace {

const std::string unv_nodes =
    "    -1\n  2411\n"
    "         1         1         1        11\n   0.0D+00   0.0D+00   0.0D+00\n"
    "         2         1         1        11\n   1.0D+01   0.0D+00   0.0D+00\n"
    "         3         1         1        11\n   0.0D+00   1.0D+01   0.0D+00\n"
    "         4         1         1        11\n   0.0D+00   0.0D+00   1.0D+01\n    -1\n";
const std::string unv_elements =
    "    -1\n  2412\n"
    "         1        91         3         1         7         3\n         1         3         2\n"
    "         2        91         3         1         7         3\n         1         2         4\n"
    "         3       111         4         1         7         4\n         1         2         3         4\n"
    "         4        21         1         1         7         2\n         0         1         1\n         1         "
    "2\n"
    "         5       121         1         1         7         2\n         1         2\n"
    "         6        11         1         1         7         2\n         0         1         1\n         1         "
    "2\n"
    "         7        11         1         1         7         2\n         1         2\n    -1\n";
const std::string unv_units =
    "    -1\n   164\n         5mm_newton                    2\n   1.0D+03   1.0D+03   1.0D+03\n   2.7D+02\n    -1\n";

std::string unv_group(int dataset, const std::string& name, const std::string& members, int count) {
  return fmt::format(
      "    -1\n  {}\n         1         0         0         0         0         0         0{:10}\n{}\n{}\n    -1\n",
      dataset, count, name, members);
}

}  // namespace

TEST_CASE("universal files: units, groups of every dataset, beams between other elements") {
  CHECK(mesh::unv_metres(unv_nodes + unv_units) == 1e-3);
  CHECK(!mesh::unv_metres(unv_nodes));
  for (const int dataset : {2467, 2477, 2452, 2435, 2432, 2430, 2429}) {
    CAPTURE(dataset);
    const bool pairs = dataset < 2435;
    const mesh::RawMesh raw =
        mesh::read_unv(unv_units + unv_nodes + unv_elements +
                           unv_group(dataset, "first side", pairs ? "8 1 7 1" : "8 1 0 0 7 1 0 0", 2) +
                           unv_group(dataset, "solid", pairs ? "8 3" : "8 3 0 0", 1),
                       1e-3);
    CHECK(raw.point(2)[0] == 1e-2);
    std::map<std::string, std::pair<int, std::vector<int>>> groups;
    for (const mesh::PhysicalGroup& group : raw.groups) groups[group.name] = {group.dimension, group.entities};
    CHECK(groups.size() == 2);
    CHECK(groups["first side"] == std::pair{2, std::vector{3}});
    CHECK(groups["solid"] == std::pair{3, std::vector{4}});
    CHECK(raw.facets.size() == 2);  // the second side is an entity of its own
    REQUIRE(raw.warnings.size() == 2);
    CHECK(raw.warnings[0] == "left out 1 element of type 121, which is no cell or facet");
    const mesh::Mesh made = mesh_of(raw);
    REQUIRE(made.boundaries.size() == 1);
    CHECK(made.boundaries[0].facets.size() == 1);
    CHECK(made.region_names == std::vector<std::string>{"solid"});
  }
}

TEST_CASE(
    "hexahedra of 20 nodes and quadrilaterals of 8 keep their curved volume, in the orders of all three formats") {
  // A cube whose edge midpoints at z = 1/2 are moved outwards in x and y by a tenth: x(1 + 0.4 z (1 - z)) about the
  // axis.
  const auto moved = [](double x, double y, double z) {
    const double s = 1 + 0.4 * z * (1 - z);
    return std::array{(x - 0.5) * s, (y - 0.5) * s, z};
  };
  const double v[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
  const int edges[12][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {4, 5}, {5, 6},
                            {6, 7}, {7, 4}, {0, 4}, {1, 5}, {2, 6}, {3, 7}};
  std::vector<std::array<double, 3>> points;  // in Abaqus's order
  for (const auto& p : v) points.push_back(moved(p[0], p[1], p[2]));
  for (const auto& [a, b] : edges)
    points.push_back(moved((v[a][0] + v[b][0]) / 2, (v[a][1] + v[b][1]) / 2, (v[a][2] + v[b][2]) / 2));
  std::string inp = "*NODE\n", bdf, unv = "    -1\n  2411\n";
  for (std::size_t n = 0; n < points.size(); ++n) {
    const auto& [x, y, z] = points[n];
    inp += fmt::format("{}, {}, {}, {}\n", n + 1, x, y, z);
    bdf += fmt::format("GRID,{},,{:.5f},{:.5f},{:.5f}\n", n + 1, x, y, z);
    unv += fmt::format("{} 1 1 1\n{} {} {}\n", n + 1, x, y, z);
  }
  inp += "*ELEMENT, TYPE=C3D20R\n1,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,\n16,17,18,19,20\n";
  bdf += "CHEXA,1,1,1,2,3,4,5,6\n,7,8,9,10,11,12,17,18\n,19,20,13,14,15,16\n";
  unv += "    -1\n    -1\n  2412\n1 116 1 1 1 20\n1 9 2 10 3 11 4 12\n17 18 19 20 5 13 6 14\n7 15 8 16\n    -1\n";
  // Cross-sections are squares of side s(z), since 1D quadratics map z onto itself: the integral of s^2.
  const double exact = 1 + 2 * 0.4 / 6 + 0.16 / 30;
  for (const mesh::RawMesh& raw : {mesh::read_inp(inp, 1), mesh::read_bdf(bdf, 1), mesh::read_unv(unv, 1)}) {
    const mesh::Mesh made = mesh_of(raw);
    CHECK(made.order == 2);
    CHECK(made.node_count() == 27);
    CHECK(volume(made) == Approx(exact).epsilon(1e-12));
  }
  // A rectangle with a parabola below it.
  const mesh::Mesh plate = mesh_of(mesh::read_bdf(
      "GRID,1,,0.,0.,0.\nGRID,2,,2.,0.,0.\nGRID,3,,2.,1.,0.\nGRID,4,,0.,1.,0.\nGRID,5,,1.,-0.25,0.\nGRID,6,,2.,0.5,0.\n"
      "GRID,7,,1.,1.,0.\nGRID,8,,0.,0.5,0.\nCQUAD8,1,1,1,2,3,4,5,6\n,7,8\n",
      1));
  CHECK(plate.node_count() == 9);
  CHECK(volume(plate) == Approx(2 + 2.0 / 3 * 2 * 0.25));
}

TEST_CASE("tetrahedra of 10 nodes and triangles of 6 keep their curved volume, in the orders of all three formats") {
  // A quadratic map moves every edge's midpoint differently, so that swapping two nodes changes the volume: the
  // integral of its Jacobian determinant, with the integral of x^a y^b z^c over the unit simplex = a! b! c! / (a + b +
  // c + d)!.
  struct Kind {
    int dimension;
    double exact;
    const char *inp, *bdf, *unv;
  };
  const double of_tetrahedron = 1 / 6.0 + 0.3 / 24 - 0.06 / 60 - 0.04 / 120 + 0.01 / 360 - 0.05 / 60;
  for (const Kind& kind : {Kind{3, of_tetrahedron, "C3D10\n1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10\n",
                                "CTETRA,1,1,1,2,3,4,5,6\n,7,8,9,10\n", "1 118 1 1 1 10\n1 5 2 6 3 7 8 9\n10 4\n"},
                           Kind{2, 0.5 + 0.3 / 6 - 0.06 / 12, "CPS6\n1, 1, 2, 3, 4, 5, 6\n", "CTRIA6,1,1,1,2,3,4,5,6\n",
                                "1 92 1 1 1 6\n1 4 2 5 3 6\n"}}) {
    const bool solid = kind.dimension == 3;
    std::vector<std::array<double, 3>> points{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    if (solid) points.push_back({0, 0, 1});
    const std::size_t corners = points.size();
    for (const auto& [a, b] : {std::pair{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}})
      if (static_cast<std::size_t>(b) < corners)
        points.push_back(
            {(points[a][0] + points[b][0]) / 2, (points[a][1] + points[b][1]) / 2, (points[a][2] + points[b][2]) / 2});
    std::string inp = "*NODE\n", bdf, unv = "    -1\n  2411\n";
    for (std::size_t n = 0; n < points.size(); ++n) {
      const auto& [x, y, z] = points[n];
      const std::array moved{x + 0.3 * x * y + 0.2 * y * z, y + 0.1 * x * x, solid ? z + 0.25 * x * y : 0};
      inp += fmt::format("{}, {}, {}, {}\n", n + 1, moved[0], moved[1], moved[2]);
      bdf += fmt::format("GRID,{},,{:.6f},{:.6f},{:.6f}\n", n + 1, moved[0], moved[1], moved[2]);
      unv += fmt::format("{} 1 1 1\n{} {} {}\n", n + 1, moved[0], moved[1], moved[2]);
    }
    inp += std::string("*ELEMENT, TYPE=") + kind.inp;
    unv += std::string("    -1\n    -1\n  2412\n") + kind.unv + "    -1\n";
    for (const mesh::RawMesh& raw :
         {mesh::read_inp(inp, 1), mesh::read_bdf(bdf + kind.bdf, 1), mesh::read_unv(unv, 1)}) {
      const mesh::Mesh made = mesh_of(raw);
      CHECK(made.order == 2);
      CHECK(volume(made) == Approx(kind.exact).epsilon(1e-12));
    }
  }
}

TEST_CASE("what is wrong with a universal file is one sentence with its line") {
  const auto dataset = [](int number, const std::string& lines) {
    return fmt::format("    -1\n{:6}\n{}    -1\n", number, lines);
  };
  CHECK(unv_refusal(unv_nodes + unv_elements + dataset(151, "a header\n")).empty());
  CHECK(unv_refusal(unv_nodes + dataset(9999, "1\n")).starts_with("line 13: dataset 9999 is not known"));
  CHECK(unv_refusal("    -1\n  2411\n         1         1         1        11\n")
            .starts_with("the file is cut short: its last dataset"));
  CHECK(unv_refusal("  2411\n").starts_with("line 1: '  2411' stands outside"));
  CHECK(unv_refusal(unv_nodes + dataset(2412, "1 81 1 1 1 3\n1 2 3\n"))
            .starts_with("line 14: elements of descriptor 81 with 3 nodes are not read"));
  CHECK(unv_refusal(unv_nodes + dataset(2412, "1 91 1 1 1 3\n1 2 9\n")) ==
        "line 14: an element uses node 9, which does not exist");
  CHECK(unv_refusal(unv_nodes + unv_elements + unv_group(2467, "a", "8 77 0 0", 1)).empty());  // may be a skipped one
  CHECK(unv_refusal(unv_nodes + dataset(2412, "1 91 1 1 1 3\n1 2 3\n") + unv_group(2467, "a", "8 77 0 0", 1)) ==
        "line 21: a group has element 77, which does not exist");
  CHECK(unv_refusal(dataset(164, "5\n0.\n") + unv_nodes) == "line 4: the factor of lengths must be above 0");
  CHECK(unv_refusal(dataset(2420, "1\npart\n7 0 8\nmoved\n1 0 0\n0 1 0\n0 0 1\n5 0 0\n") + unv_nodes)
            .starts_with("line 5: coordinate system 7 is not"));
  CHECK(unv_refusal(dataset(2420, "1\npart\n7 0 8\nsame\n1 0 0\n0 1 0\n0 0 1\n0 0 0\n") + unv_nodes).empty());
}

TEST_CASE("Abaqus: surfaces of shells and of free faces, sets before their elements, what is not understood") {
  std::string nodes = "*NODE\n";
  for (int n = 0; n < 12; ++n) nodes += fmt::format("{}, {}, {}, {}\n", n + 1, n % 3, n / 3 % 2, n / 6);
  const std::string solids = "*ELEMENT, TYPE=C3D8, ELSET=A\n1, 1, 2, 5, 4, 7, 8, 11, 10\n2, 2, 3, 6, 5, 8, 9, 12, 11\n";
  const std::string shell = "*ELEMENT, TYPE=S4, ELSET=SHELL\n101, 1, 7, 10, 4\n";
  const auto facets = [&](const std::string& text, const std::string& name) {
    const mesh::Mesh made = mesh_of(mesh::read_inp(text, 1));
    for (const mesh::BoundaryGroup& group : made.boundaries)
      if (group.name == name) return group.facets.size();
    return std::size_t{0};
  };
  CHECK(facets(nodes + solids + "*SURFACE, NAME=SKIN\nA,\n", "SKIN") == 10);
  CHECK(facets(nodes + solids + "*SURFACE, NAME=END\n1\n", "END") == 5);
  for (const char* side : {"SPOS", "SNEG", ""})
    CHECK(facets(nodes + solids + shell + "*SURFACE, NAME=INNER, TYPE=ELEMENT\nSHELL, " + side + "\n", "INNER") == 1);
  CHECK(facets(nodes + "*ELSET, ELSET=FIRST\n1\n*SURFACE, NAME=LEFT\nPart-1.FIRST, S6\n" + solids, "LEFT") == 1);
  CHECK(facets(nodes + "*ELSET, ELSET=BOTH\nA\n*ELSET, ELSET=BOTH\nBOTH\n*SURFACE, NAME=ENDS\nBOTH, S6\n" + solids,
               "ENDS") == 1);

  const std::string deck = nodes + solids;  // 13 lines and 3
  CHECK(inp_refusal(deck).empty());
  CHECK(inp_refusal(deck +
                    "*MATERIAL, NAME=m\n*CONDUCTIVITY\n1.\n*BEAM GENERAL SECTION\n*STEP\n*HEAT TRANSFER\n*END STEP\n")
            .empty());
  CHECK(facets(nodes + solids + "*ELSET, ELSET=\"cold, left\"\n1\n*SURFACE, NAME=\"a b\"\n\"cold, left\", S6\n",
               "a b") == 1);
  CHECK(inp_refusal(deck + "*NODE, INPUT=more.inp\n").starts_with("line 17: INPUT of *NODE is not read"));
  CHECK(inp_refusal(deck + "*AMPLITUDE, INPUT=more.inp\n").empty());
  CHECK(inp_refusal(deck + "*IMPERFECTION, INPUT=moved.txt\n").starts_with("line 17: *IMPERFECTION is not read"));
  CHECK(inp_refusal(deck + "*MIRROR, PLANE=X\n").starts_with("line 17: *MIRROR is not known: take it out"));
  CHECK(inp_refusal(deck + "*STEP\n*MODEL CHANGE, REMOVE\nA\n").starts_with("line 18: *MODELCHANGE is not read"));
  CHECK(
      inp_refusal(deck + "*SURFACE, NAME=s, COMBINE=UNION\n").starts_with("line 17: COMBINE of *SURFACE is not read"));
  CHECK(inp_refusal(deck + "*ELEMENT, TYPE=DCAX4\n3, 1, 2, 3, 4\n")
            .starts_with("line 17: elements of type DCAX4 are axisymmetric"));
  CHECK(inp_refusal(deck + "*ELEMENT, TYPE=COH3D8\n3, 1, 2, 3, 4\n")
            .starts_with("line 17: elements of type COH3D8 are not read"));
  CHECK(
      mesh::read_inp(deck + "*TIE, NAME=t\na, b\n", 1).warnings.at(0).starts_with("line 17: *TIE joins nothing here"));
  CHECK(mesh::read_inp(deck + "*EQUATION\n2\n1, 1, 1, 2, 1, -1\n", 1)
            .warnings.at(0)
            .starts_with("line 17: *EQUATION joins"));
}

TEST_CASE("decks include other files, whose lines sentences name") {
  const tests::ScratchFolder folder("femcg_decks");
  folder.write("nodes.inc", "** nodes\n1, 0, 0, 0\n2, 1, 0, 0\n3, 0, 1, 0\n4, 0, 0, 1");  // no line end at the end
  folder.write("more/tetrahedron.inc", "*ELEMENT, TYPE=C3D4, ELSET=ALL\n1, 1, 2, 3, 4\n*INCLUDE, INPUT=set.inc\n");
  folder.write("more/set.inc", "*ELSET, ELSET=K\xFChl\n1\n");
  const auto read = [&](const std::string& name, const std::string& text) {
    return mesh::read_deck(folder.write(name, text), 1);
  };
  const auto refused = [&](const std::string& name, const std::string& text) -> std::string {
    try {
      read(name, text);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return {};
  };
  const std::string elements = "*include, input=\"more\\tetrahedron.inc\"\n";
  for (const char* by : {"*NODE,\n INPUT=nodes.inc\n", "\xEF\xBB\xBF*NODE\n*INCLUDE, INPUT=nodes.inc\n"}) {
    const mesh::RawMesh raw = read("a.inp", by + elements);
    CHECK(volume(mesh_of(raw)) == Approx(1 / 6.0));
    CHECK(raw.groups.at(0).name == "K\u00FChl");
  }
  CHECK(refused("a.inp", "*HEADING\n*NODE, INPUT=nodes.inc\n" + elements + "*ELSET, ELSET=K\n7\n") ==
        "line 5: there is no element 7");
  folder.write("more/set.inc", "** no set\n*ELSET, ELSET=COLD\n7\n");
  CHECK(refused("a.inp", "*NODE, INPUT=nodes.inc\n" + elements) == "line 3 of 'set.inc': there is no element 7");
  folder.write("more/set.inc", "*INCLUDE, INPUT=tetrahedron.inc\n");
  CHECK(refused("a.inp", elements) ==
        "line 1 of 'set.inc': the file 'tetrahedron.inc' that is included here includes itself");
  CHECK(refused("a.inp", "*INCLUDE, INPUT=none.inc\n")
            .starts_with("line 1: the file 'none.inc' that is included here is"));
  CHECK(refused("a.inp", "*HEADING\n*INCLUDE\n") == "line 2: *INCLUDE needs its INPUT");
  CHECK(refused("a.inp", std::string("*\0N\0O\0D\0E\0", 10)).starts_with("the file is not text in ASCII or UTF-8"));

  const std::string tetra = "CTETRA,1,1,1,2,3,4\nENDDATA\nINCLUDE 'none.bdf'\n";
  folder.write("Grids.bdf", "$ grids\n" + tetrahedron);
  for (const char* name : {"'Grids.bdf'", "\"Grids.bdf\" $ here", "Grids.bdf"})
    CHECK(volume(mesh_of(read("a.bdf", fmt::format("CEND\nBEGIN BULK\nInclude {}\n{}", name, tetra)))) ==
          Approx(1 / 6.0));
  folder.write("Grids.bdf", "$ grids\nGRID,1,,zero\n");
  CHECK(refused("a.nas", "INCLUDE 'Grids.bdf'\n") == "line 2 of 'Grids.bdf': 'ZERO' is not a number");
  CHECK(refused("a.bdf", "BEGIN BULK\nINCLUDE 'Grids\n").starts_with("line 2: the name behind INCLUDE does not end"));
}

TEST_CASE("rules find boundary facets where a file has solids alone") {
  std::string text = bdf_grids(2) + "CHEXA,1,1,1,2,5,4,7,8\n,11,10\nCHEXA,2,1,2,3,6,5,8,9\n,12,11\n";
  const auto facets = [&](const mesh::GroupRule& rule) {
    mesh::GmshOptions options;
    options.groups["rule"] = rule;
    const mesh::Mesh made = mesh::to_mesh(mesh::read_bdf(text, 1), options);
    REQUIRE(made.boundaries.size() == 1);
    return made.boundaries[0].facets.size();
  };
  const auto where = [](auto condition) { return mesh::GroupRule{2, {}, condition}; };
  CHECK(facets(where([](double x, double, double) { return x < 1e-6; })) == 1);
  CHECK(facets(where([](double, double, double z) { return z < 1e-6; })) == 2);
  CHECK(facets(where([](double x, double, double z) { return z < 1e-6 && x < 1.5; })) == 1);  // a part of a face
  CHECK(facets({2, {}, {}, {2.1, 0.5, 0.5}}) == 1);
  CHECK(facets({2, {}, {}, {0.3, 0.5, 1.0}}) == 2);
  const mesh::EntityMesh entities = mesh::to_entity_mesh(mesh::read_bdf(text, 1), {});
  CHECK(entities.faces.size() == 6);
  CHECK(facets({2, {entities.faces[0].tag}, {}}) == entities.mesh.boundaries[0].facets.size());
  // A face in the file keeps its tag; the others follow.
  text += "CQUAD4,9,11,1,7,10,4\n";
  const mesh::EntityMesh with_face = mesh::to_entity_mesh(mesh::read_bdf(text, 1), {});
  CHECK(with_face.faces.size() == 6);
  CHECK(with_face.faces[0].tag == 11);
  CHECK(with_face.faces[1].tag == 12);
  CHECK(facets(where([](double x, double, double) { return x < 1e-6; })) == 1);
}

TEST_CASE("the unit that an IGES file states") {
  const auto iges = [](std::string text) {
    std::string lines = "a part" + std::string(66, ' ') + "S      1\n";
    for (; !text.empty(); text = text.substr(std::min<std::size_t>(72, text.size()))) {
      std::string line = text.substr(0, 72);
      line.resize(72, ' ');
      lines += line + "G      1\n";
    }
    return mesh::iges_metres(lines);
  };
  const std::string before = "31HOpen CASCADE, a processor, of 76,3Ha,b,4Hprog,4Hprog,32,308,15,308,15,4Hpart,1.,";
  CHECK(iges(",," + before + "1,4HINCH,1,0.1;") == 0.0254);
  CHECK(iges("1H,,1H;," + before + "2,2HMM,1,0.1;") == 1e-3);
  CHECK(iges("1H,,1H;," + before + "3,2HCM,1,0.1;") == 1e-2);
  CHECK(!iges("1H,,1H;," + before + "3,8HFURLONGS,1,0.1;"));
  CHECK(!iges("1H,,1H;,3Ha,b;"));
}
