// `femcg mesh`: measures compared with formulas, files read by VTK, and the draft of groups.
#include "solver/inspection/inspection.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <sstream>

#include "mesh/box/box.hpp"
#include "tests/gmsh.hpp"
#include "tests/program.hpp"

using namespace femcg;
using namespace femcg::tests;
using doctest::Approx;
using solver::Inspection;

namespace {

/// Two solids, 2 x 1 x 1 and 1 x 1 x 1, with a common face; two ends have names.
const std::string two_boxes =
    "SetFactory(\"OpenCASCADE\");\nBox(1) = {0, 0, 0, 2, 1, 1};\nBox(2) = {2, 0, 0, 1, 1, 1};\n"
    "BooleanFragments{ Volume{1, 2}; Delete; }{}\nPhysical Volume(\"steel\") = {1};\n"
    "e = 1e-3;\nleft() = Surface In BoundingBox{-e, -e, -e, e, 1 + e, 1 + e};\n"
    "Physical Surface(\"left\") = {left()};\nMesh.MeshSizeMax = 0.7;\n";

Inspection inspection_of(const std::string& name, const std::string& text, int order, double size) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("femcg_{}_{}", ::getpid(), name);
  std::ofstream(path) << text;
  mesh::GmshOptions options;
  options.file = path;
  options.order = order;
  options.size = size;
  Inspection made = solver::inspect(mesh::read_gmsh_entities(options));
  std::filesystem::remove(path);
  return made;
}

std::string vtk(const std::string& file_and_array) {
  return "'" FEMCG_VTK_PYTHON "' '" + (source_directory() / "tests/check_inspection.py").string() + "' " +
         file_and_array;
}

struct Measured {
  int tag, count;
  double measure;
};
std::vector<Measured> measured(const std::string& text) {
  std::istringstream lines(text);
  std::vector<Measured> all;
  for (Measured one{}; lines >> one.tag >> one.count >> one.measure;) all.push_back(one);
  return all;
}

}  // namespace

TEST_CASE("a box by its sides") {
  mesh::BoxOptions box;
  box.shape = mesh::CellShape::tetrahedron;
  box.cells = {2, 3, 4};
  box.size = {2, 3, 5};
  const Inspection made = solver::inspect(solver::entities_of_groups(mesh::make_box(box)));
  REQUIRE(made.regions.size() == 1);
  CHECK(made.regions[0].measure == Approx(30));
  CHECK(made.regions[0].centre[2] == Approx(2.5));
  CHECK(made.regions[0].neighbours.empty());
  REQUIRE(made.faces.size() == 6);
  for (const solver::MeasuredEntity& side : made.faces) {
    CAPTURE(side.entity.groups.front());
    const std::string& name = side.entity.groups.front();
    const int axis = name == "left" || name == "right" ? 0 : name == "bottom" || name == "top" ? 1 : 2;
    CHECK(side.measure == Approx(30 / box.size[axis]));
    CHECK(side.low[axis] == Approx(side.high[axis]));
    CHECK(side.neighbours == std::vector<std::int32_t>{0});
    CHECK_FALSE(side.inside);
  }
  CHECK(made.unnamed.elements == 0);
}

TEST_CASE("every solid and face of a geometry, with what it touches" * needs_gmsh()) {
  const Inspection made = inspection_of("two.geo", two_boxes, 1, 0.5);
  REQUIRE(made.regions.size() == 2);
  CHECK(made.regions[0].measure == Approx(2));
  CHECK(made.regions[1].measure == Approx(1));
  CHECK(made.regions[0].entity.groups == std::vector<std::string>{"steel"});
  CHECK(made.regions[1].entity.groups.empty());
  CHECK(made.regions[0].neighbours == std::vector<std::int32_t>{1});
  CHECK(made.regions[1].centre[0] == Approx(2.5));
  REQUIRE(made.faces.size() == 11);
  double outer = 0;
  int inside = 0;
  for (const solver::MeasuredEntity& face : made.faces) {
    if (!face.inside) outer += face.measure;
    if (face.inside) CHECK(face.neighbours == std::vector<std::int32_t>{0, 1});
    inside += face.inside;
  }
  CHECK(inside == 1);
  CHECK(outer == Approx(14));
}

TEST_CASE("curved parts approach the formulas of the sphere" * needs_gmsh()) {
  const std::string ball = "SetFactory(\"OpenCASCADE\");\nSphere(1) = {0.2, 0, 0, 1};\n";
  double error[2];
  for (const int order : {1, 3}) {
    const Inspection made = inspection_of("ball.geo", ball, order, 0.4);
    REQUIRE(made.regions.size() == 1);
    REQUIRE(made.faces.size() == 1);
    error[order / 2] = std::abs(made.regions[0].measure / (4 * std::numbers::pi / 3) - 1) +
                       std::abs(made.faces[0].measure / (4 * std::numbers::pi) - 1);
    CHECK(std::abs(made.regions[0].centre[0] - 0.2) < 0.01);
    if (order == 3) CHECK(made.jacobian.worst < 0.999);
    if (order == 1) CHECK(made.jacobian.worst == Approx(1));
  }
  CHECK(error[0] > 0.01);
  CHECK(error[1] < 1e-3);
}

TEST_CASE("VTK reads the files of femcg mesh: tags, volumes and areas" * needs_gmsh()) {
  const std::string make = file("two.geo", two_boxes) + "$femcg mesh two.geo --order 2 --quiet --output made && ";
  const Result cells = shell(make + vtk("made/cells.vtu region"));
  INFO(cells.err);
  const std::vector<Measured> regions = measured(cells.out);
  REQUIRE(regions.size() == 2);
  CHECK(regions[0].tag == 1);
  CHECK(regions[0].measure == Approx(2));
  CHECK(regions[1].measure == Approx(1));
  const std::vector<Measured> faces = measured(shell(make + vtk("made/faces.vtu face")).out);
  REQUIRE(faces.size() == 11);
  CHECK(faces[0].measure == Approx(1));  // left
  double sum = 0;
  for (const Measured& face : faces) sum += face.measure;
  CHECK(sum == Approx(15));

  const std::string plane = file("box.yaml", "mesh: {box: {cells: [3, 2], size: [3, 1], distort: 0.2}}\n") +
                            "$femcg mesh box.yaml --quiet --output made && ";
  CHECK(measured(shell(plane + vtk("made/cells.vtu region")).out).at(0).measure == Approx(3));
  const std::vector<Measured> edges = measured(shell(plane + vtk("made/faces.vtu face")).out);
  REQUIRE(edges.size() == 4);
  CHECK(edges[0].measure == Approx(1));
  CHECK(edges[3].measure == Approx(3));
}

TEST_CASE("the draft of groups is what check accepts" * needs_gmsh()) {
  const Result made =
      shell(file("two.geo", two_boxes) +
            "$femcg mesh two.geo --size 0.5 --output made > table && sed -n '/^mesh:/,$p' table > draft.yaml && "
            "cat table && echo --- && $femcg check draft.yaml");
  INFO(made.out, made.err);
  CHECK(made.status == 0);
  CHECK(contains(made.out, "region_2: {dimension: 3, tags: [2]}   # volume 1 about (2.5, 0.5, 0.5)"));
  CHECK(contains(made.out, "lies inside, where no condition can hold"));
  CHECK_FALSE(contains(made.out, "face_1:"));  // it is named: left
  CHECK(contains(made.out, "  size: 0.5\n"));
  const std::string checked = made.out.substr(made.out.find("---"));
  CHECK(contains(checked, "region_2: {dimension: 3, tags: [2]}"));
}

TEST_CASE("femcg mesh says what is wrong" * needs_gmsh()) {
  check_refused("mesh", "a file is missing, such as femcg mesh part.step");
  for (const std::string name : {"absent.step", "absent.msh", "absent"})
    CHECK(program_run("mesh " + name).err == name + ": there is no such file\n");
  CHECK(shell("mkdir folder.msh; $femcg mesh folder.msh").err == "folder.msh: this is not a file\n");
  check_refused("mesh two.geo --size 0", "--size: mesh.size must be a positive number, not '0'",
                file("two.geo", two_boxes));
  check_refused("mesh two.geo --sise 1", "unknown option '--sise'; did you mean '--size'?", file("two.geo", two_boxes));
  check_refused("mesh broken.geo --output made", "broken.geo: ", file("broken.geo", "Point(1) = {0, 0\n"));
  // A rule that does not apply gives a note, so that the entities can be inspected.
  const Result made = shell(file("two.geo", two_boxes) +
                            file("two.yaml", "mesh: {file: two.geo, groups: {hole: {dimension: 2, tags: [99]}}}\n") +
                            "$femcg mesh two.yaml --output made");
  CHECK(made.status == 0);
  CHECK(contains(made.err, "note: group 'hole' names entity 99"));
}
