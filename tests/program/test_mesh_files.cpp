// Meshes from other programs' files: the same part in all formats, and variants of Abaqus's input.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "mesh/gmsh/decks/deck_mesh.hpp"
#include "mesh/gmsh/groups/nearest_entity.hpp"
#include "tests/gmsh.hpp"
#include "tests/program.hpp"

using namespace femcg;
using namespace femcg::tests;
using doctest::Approx;

namespace {

/// Message with which an input file is refused; "" if it is read.
std::string refusal(const std::string& text) {
  try {
    mesh::read_inp(text, 1);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

const std::string tetrahedron_nodes = "*NODE\n1, 0, 0, 0\n2, 1, 0, 0\n3, 0, 1, 0\n4, 0, 0, 1\n";

/// Two adjacent cubes along x, in two sets named by a section and a set, with a surface and comments.
const std::string cubes =
    "*HEADING\n two cubes\n** nothing\n*Node, nset=all\n"
    "1, 0, 0, 0\n2, 1., 0, 0\n3, +2.0E0, 0, 0\n4, 0, 1, 0\n5, 1, 1, 0\n6, 2, 1, 0\n"
    "11, 0, 0, 1\n12, 1, 0, 1\n13, 2, 0, 1\n14, 0, 1, 1\n15, 1, 1, 1\n16, 2, 1, 1D0,\n"
    "*element, type=DC3D8, elset=Cubes\n7, 1, 2, 5, 4,\n 11, 12, 15, 14\n9, 2, 3, 6, 5, 12, 13, 16, 15\n"
    "*ELEMENT, TYPE=SPRINGA, ELSET=springs\n50, 1, 2\n"
    "*Elset, elset=First\n7\n*ELSET, ELSET=second, GENERATE\n9, 9, 1\n*elset, elset=both\nfirst, SECOND\n"
    "*Elset, elset=_hidden, internal\n9\n"
    "*Surface, type=element, name=left\nFIRST, S6\n*SURFACE, NAME=right\n9, S4\n*surface, name=ends\n7, s6\n_hidden, "
    "S4\n"
    "*Solid Section, elset=second,\n material=copper\n 1.0,\n*STEP\n*STATIC\n0.1, 1\n";

}  // namespace

TEST_CASE("the bracket as .geo, .step, .msh 2.2, 4.0 and 4.1, .inp, .bdf and .unv: same volume, same fluxes" *
          needs_gmsh()) {
  const std::string folder = (source_directory() / "cases/meshes").string();
  const std::string save = "cat '" + folder +
                           "/bracket.geo' - > save.geo <<'END'\n"
                           "Mesh.MeshSizeMin = 10; Mesh.MeshSizeMax = 10; Mesh 3; SetOrder 2;\n"
                           "Mesh.MshFileVersion = 2.2; Mesh.Binary = 0; Save \"b22.msh\";\n"
                           "Mesh.MshFileVersion = 4.0; Save \"b40.msh\";\n"
                           "Mesh.MshFileVersion = 4.1; Mesh.Binary = 1; Save \"b41.msh\"; Mesh.Binary = 0;\n"
                           "Save \"b.inp\"; Save \"b.bdf\"; Save \"b.unv\";\nEND\n"
                           "$save_by_gmsh save.geo || exit 9\n"
                           "cp '" +
                           folder + "/bracket.step' '" + folder + "/bracket.geo' .\n";
  std::string runs = save;
  const auto add = [&](const std::string& name, const std::string& keys) {
    runs += file(name + ".yaml",
                 "mesh: {" + keys +
                     ", groups: {\n  seat: {dimension: 2, where: \"abs(sqrt(x^2 + (z - 0.052)^2) - 0.015) < 1e-6\"},\n"
                     "  foot: {dimension: 2, where: \"abs(z) < 1e-6\"}}}\ndegree: 1\nequation: {diffusion: 160}\n"
                     "boundary: {seat: {value: 85}, foot: {transfer: 3000, ambient: 30}}\n"
                     "solver: {device: cpu, tolerance: 1e-11}\noutput: {vtu: false}\n") +
            "$femcg run " + name + ".yaml --quiet --output " + name +
            " 2> log || { cat log; exit 8; }\n"
            "$femcg mesh " +
            name +
            ".yaml --output made 2> log | sed -n '/^regions/,/^$/p' > volume\n"
            "awk 'NR == 3' volume >&2; cat " +
            name + "/result.json; echo ,\n";
  };
  const std::string made = ", size: 0.01, order: 2";
  add("geo", "file: bracket.geo, unit: mm" + made);
  add("step", "file: bracket.step" + made);
  for (const char* mesh : {"b22.msh", "b40.msh", "b41.msh", "b.inp", "b.bdf", "b.unv"})
    add(std::string(mesh).replace(std::string(mesh).find('.'), 1, "_"), std::string("file: ") + mesh + ", unit: mm");
  const Result result = shell("echo [\n" + runs + "echo null ]");
  INFO(result.out, result.err);
  REQUIRE(result.status == 0);
  const nlohmann::json records = nlohmann::json::parse(result.out);
  REQUIRE(records.size() == 9);
  const auto flux = [&](int i, const char* group) { return records[i]["quantities"]["flux"][group].get<double>(); };
  const auto cells = [&](int i) { return records[i]["problem"]["cells"].get<int>(); };
  std::istringstream lines(result.err);
  std::vector<double> volumes;
  for (std::string line; std::getline(lines, line);) {
    for (char& c : line)
      if (c == ',' || c == '-') c = ' ';
    std::istringstream words(line);
    std::vector<std::string> all{std::istream_iterator<std::string>(words), {}};
    for (const std::string& word : all)
      if (contains(word, "e05") || word.starts_with("0.0001")) volumes.push_back(std::stod(word));
  }
  const double conservation = std::abs(flux(0, "seat") + flux(0, "foot"));
  CHECK(conservation < 1e-6 * std::abs(flux(0, "seat")));
  CHECK(flux(0, "seat") > 10);
  // The STEP file is meshed in metres, and both meshes are improved: different meshes of the same part.
  CHECK(flux(1, "seat") == Approx(flux(0, "seat")).epsilon(0.01));
  CHECK(flux(2, "seat") == Approx(flux(0, "seat")).epsilon(0.01));
  for (int i = 3; i < 8; ++i) {
    CAPTURE(i);
    CHECK(cells(i) == cells(2));
    CHECK(flux(i, "seat") == Approx(flux(2, "seat")).epsilon(1e-5));
    CHECK(flux(i, "foot") == Approx(flux(2, "foot")).epsilon(1e-5));
  }
  REQUIRE(volumes.size() == 8);
  for (const double volume : volumes) CHECK(volume == Approx(volumes[0]).epsilon(1e-3));
  for (std::size_t i = 3; i < 8; ++i) CHECK(volumes[i] == Approx(volumes[2]).epsilon(1e-5));
}

TEST_CASE("sets, sections and surfaces of an Abaqus input file") {
  const mesh::RawMesh raw = mesh::read_inp(cubes, 2);
  CHECK(raw.dimension == 3);
  CHECK(raw.node_count() == 12);
  CHECK(raw.point(3)[0] == 4);
  REQUIRE(raw.cells.size() == 2);
  REQUIRE(raw.facets.size() == 3);
  CHECK(raw.cells[0].nodes[2] == 5);  // label 5 is the fifth node, 15 the eleventh
  CHECK(raw.cells[0].nodes[6] == 11);
  std::map<std::string, std::pair<int, std::vector<int>>> groups;
  for (const mesh::PhysicalGroup& group : raw.groups) groups[group.name] = {group.dimension, group.entities};
  CHECK(groups.size() == 7);
  CHECK(raw.groups.front().name == "second");  // from a section, which comes first among the region's names
  CHECK(groups.at("First") == std::pair{3, std::vector{1}});
  CHECK(groups.at("second") == std::pair{3, std::vector{2}});
  CHECK(groups.at("both") == std::pair{3, std::vector{1, 2}});
  CHECK(groups.at("Cubes") == groups.at("both"));
  CHECK(groups.at("left").first == 2);
  CHECK(raw.warnings.size() == 1);
  CHECK(raw.warnings[0] == "left out 1 element of type SPRINGA, which is no cell or facet");
}

TEST_CASE("elements without vertices are near nothing") {
  mesh::RawMesh raw = mesh::read_inp(cubes, 2);
  const double point[] = {0, 0, 0};
  CHECK(mesh::nearest_entity(raw, 3, point).distance == 0);
  for (mesh::ElementBlock& block : raw.cells) block.corners = 0;
  CHECK(std::isinf(mesh::nearest_entity(raw, 3, point).distance));
}

TEST_CASE("an Abaqus input file in the table, and its boundary conditions" * needs_gmsh()) {
  const Result made =
      shell(file("cubes.inp", cubes) +
            file("case.yaml",
                 "mesh: {file: cubes.inp, unit: m, refine: 1}\nequation: {diffusion: {second: 2, First: 1}}\n"
                 "boundary: {left: {value: 1}, right: {value: 0}}\nsolver: {device: cpu, tolerance: 1e-12}\n") +
            "$femcg mesh cubes.inp --output made && $femcg run case.yaml --quiet --output made && "
            "grep -A 5 '\"flux\"' made/result.json");
  INFO(made.out, made.err);
  CHECK(made.status == 0);
  CHECK(contains(made.out, "First, both, Cubes"));
  CHECK(contains(made.out, "second, both, Cubes"));
  CHECK(contains(made.out, "  ends    2       2     (1, 0.5, 0.5)"));
  // Two resistances in series, 1 and 1/2: 1 / 1.5.
  const std::size_t at = made.out.find("\"left\": ");
  REQUIRE(at != std::string::npos);
  CHECK(std::stod(made.out.substr(at + 8)) == Approx(1 / 1.5));
}

TEST_CASE("plane input files, of quadrilaterals and of triangles with middle nodes" * needs_gmsh()) {
  const std::string square = "*NODE\n1, 0, 0\n2, 2, 0\n3, 2, 1\n4, 0, 1\n";
  const std::string quadrilateral =
      square + "*ELEMENT, TYPE=CPS4R, ELSET=plate\n1, 1, 2, 3, 4\n*SURFACE, NAME=right\nplate, S2\n";
  const std::string triangles = square + "5, 1, 0\n6, 2, 0.5\n7, 1, 1\n8, 0, 0.5\n9, 1, 0.5\n" +
                                "*ELEMENT, TYPE=STRI65, ELSET=plate\n1, 1, 2, 3, 5, 6, 9\n2, 1, 3, 4, 9, 7, 8\n"
                                "*ELEMENT, TYPE=T2D2, ELSET=rod\n3, 3, 4\n*SURFACE, NAME=right\n1, S2\n";
  for (const std::string& text : {quadrilateral, triangles}) {
    const Result made = shell(file("plate.inp", text) + "$femcg mesh plate.inp --output made");
    INFO(made.out, made.err);
    CHECK(made.status == 0);
    CHECK(contains(made.out, "[0, 2] x [0, 1]"));
    CHECK(contains(made.out, "plate"));
    CHECK(contains(made.out, "(2, 0.5)"));  // the midpoint of the right edge
    CHECK(contains(made.out, "rod") == (text == triangles));
  }
}

TEST_CASE("what is wrong with an Abaqus input file is one sentence with its line") {
  const std::string element = tetrahedron_nodes + "*ELEMENT, TYPE=C3D4, ELSET=all\n1, 1, 2, 3, 4\n";
  CHECK(refusal(element).empty());
  CHECK(refusal("") == "there are no nodes in it");
  CHECK(refusal("*NODE\n1, 0, 0, 0\n1, 1, 0, 0\n") == "line 3: node 1 is defined twice");
  CHECK(refusal("*NODE\n1, 0, x, 0\n") == "line 2: 'x' is not a number");
  CHECK(refusal("*NODE\n1, 0, inf, 0\n") == "line 2: 'inf' is not a number");
  CHECK(refusal("*NODE\n1.5, 0, 0\n") == "line 2: '1.5' is not a whole number");
  CHECK(refusal("*NODE\n1, 0\n") == "line 2: a node needs its number and 2 or 3 coordinates");
  CHECK(refusal(tetrahedron_nodes + "*ELEMENT\n") == "line 6: *ELEMENT needs its TYPE");
  CHECK(refusal(tetrahedron_nodes + "*ELEMENT, TYPE=C3D4\n1, 1, 2, 3\n*END STEP\n") ==
        "line 7: element 1 has 3 nodes, but C3D4 has 4");
  CHECK(refusal(tetrahedron_nodes + "*ELEMENT, TYPE=C3D4\n** a comment\n\n1, 1, 2, 3, 5\n") ==
        "line 9: an element uses node 5, which does not exist");
  CHECK(refusal(element + "1, 1, 2, 3, 4\n") == "line 8: element 1 is defined twice");
  CHECK(refusal(element + "*ELSET, ELSET=a\n2\n") == "line 9: there is no element 2");
  CHECK(refusal(element + "*ELSET, ELSET=a\nb\n") == "line 9: there is no element set 'b'");
  CHECK(refusal(element + "*ELSET, ELSET=a, GENERATE\n2, 1, 1\n") ==
        "line 9: a generated set needs the first and last element and a step");
  CHECK(refusal(element + "*SURFACE, NAME=a\nall, S5\n") == "line 9: 'S5' is no face of C3D4, which has S1 to S4");
  CHECK(refusal(element + "*SURFACE\nall, S1\n") == "line 8: *SURFACE needs its NAME");
  CHECK(refusal(element + "*SOLID SECTION, ELSET=al\n") == "line 8: there is no element set 'al'");
  CHECK(refusal("*PART, NAME=a\n" + element + "*END PART\n*PART, NAME=b\n")
            .starts_with("line 10: a second *PART begins"));
  CHECK(refusal(element + "*INSTANCE, NAME=a, PART=b\n0, 0, 1\n").starts_with("line 9: the *INSTANCE is moved"));
  CHECK(refusal("*INCLUDE, INPUT=nodes.inp\n").starts_with("line 1: *INCLUDE is not read"));
}

TEST_CASE("files of other programs that cannot be read" * needs_gmsh()) {
  const std::string part = file("c.inp", tetrahedron_nodes + "*ELEMENT, TYPE=C3D20\n1" +
                                             std::string(", 1, 2, 3, 4")
                                                 .append(", 1, 2, 3, 4")
                                                 .append(", 1, 2, 3, 4")
                                                 .append(", 1, 2, 3, 4")
                                                 .append(", 1, 2, 3, 4\n"));
  check_refused("mesh c.inp", "c.inp: 1 of 1 cells are inverted or degenerate", part);
  check_refused(
      "mesh w.inp", "the cells are of type C3D6, but must be triangles",
      file("w.inp", tetrahedron_nodes + "5, 1, 0, 1\n6, 0, 1, 1\n*ELEMENT, TYPE=C3D6\n1, 1, 2, 3, 4, 5, 6\n"));
  check_refused("mesh n.inp", "n.inp: line 2: 'a' is not a whole number", file("n.inp", "*NODE\na, 0, 0\n"));
  check_refused("mesh p.nas", "p.nas: there are no nodes in it", file("p.nas", "$ nothing\nENDDATA\n"));
  check_refused("mesh p.nas", "or hexahedra; left out 1 element of type CBAR, which is no cell or facet",
                file("p.nas", "GRID,1\nGRID,2,,1.\nCBAR,1,1,1,2\nENDDATA\n"));
  check_refused("mesh p.unv", "p.unv: the file is cut short: its last dataset has no end (-1)",
                file("p.unv", "    -1\n  2411\n         1         1         1        11\n"));
  check_refused("mesh p.stl", "p.stl: the file must be .msh, .inp, .bdf, .nas, .unv or .med for a mesh, .geo, ",
                file("p.stl", "solid\n"));
  check_refused("check case.yaml", "case.yaml:1:27: mesh.size is for geometry files; a .inp file is meshed already",
                part + file("case.yaml", "mesh: {file: c.inp, size: 1}\n"));
  // MED depends on this build of Gmsh; in any case this is no such file.
  check_refused("mesh p.med", "p.med: ", file("p.med", "no MED\n"));
}

TEST_CASE("a group between cells is called that, and a probe on a curved side is taken from the nearest cell" *
          needs_gmsh()) {
  std::string nodes = "*NODE\n";
  for (int n = 0; n < 6; ++n) nodes += fmt::format("{}, {}, {}\n", n + 1, n % 3, n / 3);
  const std::string strip = file("strip.inp", nodes +
                                                  "*ELEMENT, TYPE=CPS4, ELSET=all\n1, 1, 2, 5, 4\n2, 2, 3, 6, 5\n"
                                                  "*SURFACE, NAME=sheet\n1, S2\n*SURFACE, NAME=left\n1, S4\n");
  check_refused(
      "run case.yaml", "case.yaml:2:12: group 'sheet' lies inside the mesh, between cells",
      strip + file("case.yaml", "mesh: {file: strip.inp}\nboundary: {sheet: {value: 1}, left: {value: 0}}\n"));
  const Result disc = shell(
      file("disc.geo", "SetFactory(\"OpenCASCADE\");\nDisk(1) = {0, 0, 0, 1, 1};\nPhysical Curve(\"rim\") = {1};\n") +
      file("case.yaml",
           "mesh: {file: disc.geo, size: 0.3, cache: false}\ndegree: 2\nequation: {diffusion: 1}\n"
           "boundary: {rim: {value: \"x^2 - y^2\"}}\nsolver: {device: cpu}\noutput: {vtu: false, probes: {rim: [0.6, "
           "0.8]}}\n") +
      "$femcg run case.yaml --output made && grep -A 2 '\"probes\"' made/result.json");
  INFO(disc.out, disc.err);
  CHECK(disc.status == 0);
  CHECK(contains(disc.out + disc.err, "probe 'rim' at (0.6, 0.8) lies 0.00"));
  const std::size_t at = disc.out.find("\"rim\": ", disc.out.find("\"probes\""));
  REQUIRE(at != std::string::npos);
  CHECK(std::stod(disc.out.substr(at + 7)) == Approx(-0.28).epsilon(0.1));
}
