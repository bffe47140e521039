// Keys of a case for a mesh file: groups by a point nearby and by the file's names, unit, scale and sizes.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "mesh/gmsh/gmsh_reader.hpp"
#include "mesh/gmsh/length_unit.hpp"
#include "tests/gmsh.hpp"
#include "tests/program.hpp"

using namespace femcg;
using namespace femcg::tests;
using doctest::Approx;

namespace {

/// Output of femcg check for a case; `files`: shell lines that make its files.
Result check_of(const std::string& files, const std::string& yaml) {
  return shell(files + file("case.yaml", yaml) + "$femcg check case.yaml");
}

/// A bar of 2 x 1 x 1 with a hole of radius 0.2 through its centre, along z.
const std::string bar =
    "SetFactory(\"OpenCASCADE\");\nBox(1) = {0, 0, 0, 2, 1, 1};\nCylinder(2) = {1, 0.5, -1, 0, 0, 3, 0.2};\n"
    "BooleanDifference{ Volume{1}; Delete; }{ Volume{2}; Delete; }\nMesh.MeshSizeMax = 0.5;\n";

std::string heat_sink() { return (source_directory() / "cases/meshes/heat_sink.step").string(); }

}  // namespace

TEST_CASE("a face or solid by a point nearby" * needs_gmsh()) {
  const std::string hole =
      "groups: {hole: {dimension: 2, near: [1.19, 0.5, 0.5]}, end: {dimension: 2, near: [-3, 0.5, 0.5]}}";
  const Result made = shell(file("bar.geo", bar) +
                            file("case.yaml", "mesh: {file: bar.geo, size: 0.2, " + hole +
                                                  "}\nboundary: {hole: {value: 1}, end: {value: 0}}\n") +
                            "$femcg run case.yaml --quiet --output made --set solver.device=cpu; cat made/result.json; "
                            "$femcg mesh case.yaml --output made");
  INFO(made.out, made.err);
  CHECK(made.status == 0);
  // Areas in the table: pi times diameter, and the end.
  const auto area = [&](const std::string& group) {
    for (std::istringstream lines(made.out); lines;) {
      std::string line;
      std::getline(lines, line);
      std::istringstream words(line);
      int tag = 0;
      std::string name, facets;
      double value = 0;
      if (words >> tag >> name >> facets >> value && name == group) return value;
    }
    return 0.0;
  };
  CHECK(area("hole") == Approx(3.14159 * 0.4).epsilon(0.05));
  CHECK(area("end") == Approx(1));

  const Result tie = check_of(file("bar.geo", bar),
                              "degree: 1\nmesh: {file: bar.geo, groups: {edge: {dimension: 2, near: [0, 0, 0.5]}}}\n");
  CHECK(tie.status == 2);
  INFO(tie.err);
  CHECK(contains(tie.err, "case.yaml:2:1: "));
  CHECK(contains(tie.err, "group 'edge': entities "));
  CHECK(contains(tie.err, "of dimension 2 are as near to (0, 0, 0.5), at 0: take a point that is nearer"));

  // A point in another unit usually is far away.
  const Result far = check_of(
      file("bar.geo", bar), "degree: 1\nmesh: {file: bar.geo, groups: {end: {dimension: 2, near: [100, 0.5, 0.5]}}}\n");
  CHECK(contains(far.err,
                 "group 'end': the point (100, 0.5, 0.5) lies 98 from the mesh, which lies in [0, 2] x [0, 1] x "));
}

TEST_CASE("the distance to every shape of cell and facet" * needs_gmsh()) {
  // Two adjacent cells: the point lies inside the second, or nearer to it.
  for (const bool tensor : {false, true})
    for (const int dimension : {2, 3}) {
      CAPTURE(tensor);
      CAPTURE(dimension);
      const std::string layers = tensor ? "Layers{2}; Recombine;" : "Layers{2};";
      std::string script =
          "Point(1) = {0, 0, 0};\nExtrude{1, 0, 0}{ Point{1}; Layers{2}; }\n"
          "Point(9) = {1, 0, 0};\nExtrude{1, 0, 0}{ Point{2}; Layers{2}; }\n"
          "a[] = Extrude{0, 1, 0}{ Curve{1}; " +
          layers + " };\nb[] = Extrude{0, 1, 0}{ Curve{2}; " + layers + " };\n";
      if (dimension == 3)
        script +=
            "Extrude{0, 0, 1}{ Surface{a[1]}; " + layers + " }\nExtrude{0, 0, 1}{ Surface{b[1]}; " + layers + " }\n";
      for (const double x : {0.3, 1.7}) {
        const std::string point = dimension == 2 ? fmt::format("[{}, 0.4]", x) : fmt::format("[{}, 0.4, 0.7]", x);
        const Result made = shell(
            file("two.geo", script) +
            file("case.yaml",
                 fmt::format("mesh: {{file: two.geo, cells: {}, groups: {{here: {{dimension: {}, near: {}}}}}}}\n",
                             tensor ? "tensor" : "simplex", dimension, point)) +
            "$femcg mesh case.yaml --output made");
        INFO(made.out, made.err);
        CHECK(made.status == 0);
        const std::size_t at = made.out.find("here");
        const std::string line = made.out.substr(at, made.out.find('\n', at) - at);
        CHECK(contains(line, x < 1 ? "(0.5, 0.5" : "(1.5, 0.5"));
      }
    }
}

TEST_CASE("solids by the names of a STEP file" * needs_gmsh()) {
  // Renamed as by a CAD program; the first solid is the plate.
  const std::string named =
      "sed \"s/'Open CASCADE STEP translator 7.6 1.1'/'plate'/; s/'Open CASCADE STEP translator 7.6 1.[2-7]'/'fin'/\" "
      "'" +
      heat_sink() + "' > sink.step\n";
  const Result made = shell(named +
                            file("case.yaml",
                                 "mesh: {file: sink.step, size: 0.012, groups: {base: {dimension: 3, name: plate}, "
                                 "fins: {dimension: 3, name: fin}}}\n"
                                 "equation: {diffusion: {base: 1, fins: 2}}\n") +
                            "$femcg check case.yaml && $femcg mesh case.yaml --output made");
  INFO(made.err);
  CHECK(made.status == 0);
  CHECK(contains(made.out, "base: {dimension: 3, name: plate}"));
  CHECK(contains(made.out, "plate  base"));
  const Result absent =
      check_of(named, "mesh: {file: sink.step, size: 0.012, groups: {base: {dimension: 3, name: plat}}}\n");
  CHECK(absent.status == 2);
  CHECK(contains(absent.err, "group 'base': nothing of dimension 3 is called 'plat'; there are fin, plate"));
  const Result faces =
      check_of(named, "mesh: {file: sink.step, size: 0.012, groups: {base: {dimension: 2, name: plate}}}\n");
  CHECK(contains(faces.err, "nothing of dimension 2 is called 'plate'; the file gives no names there"));
}

TEST_CASE("an unknown group lists what there is" * needs_gmsh()) {
  const Result made = check_of(file("bar.geo", bar), "mesh: {file: bar.geo}\nboundary: {hole: {value: 1}}\n");
  CHECK(made.status == 2);
  CHECK(contains(made.err,
                 "case.yaml:2:12: the mesh has no boundary group 'hole'; known are all; femcg mesh shows them"));
}

TEST_CASE("the unit that a STEP file states") {
  using mesh::stated_metres;
  const std::string context = "#9=(GEOMETRIC_REPRESENTATION_CONTEXT(3)GLOBAL_UNIT_ASSIGNED_CONTEXT((#1,#2)) );";
  const std::string angle = "#2=(NAMED_UNIT(*)PLANE_ANGLE_UNIT()SI_UNIT($,.RADIAN.));\n";
  CHECK(stated_metres(angle + "#1 = ( LENGTH_UNIT() NAMED_UNIT(*)\n SI_UNIT(.MILLI.,.METRE.) );\n" + context) == 1e-3);
  CHECK(stated_metres(angle + "#1=(LENGTH_UNIT()NAMED_UNIT(*)SI_UNIT($,.METRE.));" + context) == 1.0);
  const std::string inch =
      "#11=(LENGTH_UNIT()NAMED_UNIT(*)SI_UNIT(.MILLI.,.METRE.));\n"
      "#12=LENGTH_MEASURE_WITH_UNIT(LENGTH_MEASURE(25.4),#11);\n"
      "#1=(CONVERSION_BASED_UNIT('INCH',#12)LENGTH_UNIT()NAMED_UNIT(#13));\n";
  CHECK(*stated_metres(angle + inch + context) == Approx(0.0254));
  CHECK(mesh::unit_name(*stated_metres(angle + inch + context)) == "in");
  CHECK(mesh::unit_name(2e-3) == "0.002 m");
  // None, none that can be read, and two contradictory ones.
  CHECK_FALSE(stated_metres(""));
  CHECK_FALSE(stated_metres(angle + context));
  CHECK_FALSE(stated_metres(angle + "#1=(LENGTH_UNIT()NAMED_UNIT(*)SI_UNIT(.FURLONG.,.METRE.));" + context));
  CHECK_FALSE(
      stated_metres("#1=(LENGTH_UNIT()SI_UNIT($,.METRE.));#2=(LENGTH_UNIT()SI_UNIT(.MILLI.,.METRE.));" + context));
  CHECK_FALSE(stated_metres("GLOBAL_UNIT_ASSIGNED_CONTEXT((#"));
  CHECK_FALSE(stated_metres("LENGTH_UNIT #1=(LENGTH_UNIT"));
}

TEST_CASE("more cells than memory allows are refused before they are made" * needs_gmsh()) {
  const std::string box = file("box.geo", "SetFactory(\"OpenCASCADE\");\nBox(1) = {0, 0, 0, 80, 50, 30};\n") +
                          file("case.yaml", "mesh: {file: box.geo, size: 0.002}\nboundary: {all: {value: 0}}\n");
  for (const std::string command : {"run case.yaml", "check case.yaml", "mesh box.geo --size 0.002"}) {
    check_refused(command, "box.geo: about 6.8e+13 cells of size 0.002 fill the geometry, which measures 80 x 50 x 30",
                  box);
    check_refused(command, "GB are free: is mesh.unit right, or else mesh.size?", box);
  }
  CHECK(shell(box + "$femcg check case.yaml --set mesh.unit=mm --set mesh.size=0.02").status == 0);
}

TEST_CASE("a box that does not fit into memory is refused before it is made") {
  const std::string keys = " $cases/minimal.yaml --set mesh.box.cells=[1200,1200,1200] --set mesh.box.cell=hexahedron ";
  for (const std::string command : {"run", "check", "compare"}) {
    const Result result = shell(little_memory + "$femcg " + command + keys);
    INFO(command, ": ", result.err);
    CHECK(result.status == 3);
    CHECK(contains(result.err, "a box of 1.73e+09 cells, with 1.73e+09 dofs, alone needs about 27.7 GB"));
  }
}

TEST_CASE("flat cells of a box are noted") {
  const auto noted = [](const char* size) {
    const Result made = check_of("", fmt::format("mesh: {{box: {{cells: [4, 4, 4], cell: tetrahedron, size: {}}}}}\n"
                                                 "boundary: {{left: {{value: 0}}}}\n",
                                                 size));
    CHECK(made.status == 0);
    return contains(made.err, "the cells of the box are flat, with angles of ");
  };
  CHECK(noted("[1, 1, 1e-6]"));
  CHECK(!noted("[1, 1, 0.5]"));
}

TEST_CASE("unit and scale: the mesh is in metres, and so is all that a case says of it" * needs_gmsh()) {
  // A unit box in each kind of file; `size`, `where` and `near` are lengths of the mesh.
  const std::string box = "SetFactory(\"OpenCASCADE\");\nBox(1) = {0, 0, 0, 1, 2, 3};\nMesh.MeshSizeMax = 1;\n";
  const std::string files = file("box.geo", box) +
                            file("save.geo", box + "Mesh 3; Save \"box.msh\"; Save \"box.step\";\n") +
                            "$save_by_gmsh save.geo || exit 9\n";
  const auto measured = [&](const std::string& mesh, const std::string& groups, double length) {
    const Result made = shell(files + file("case.yaml", "mesh: {" + mesh + ", groups: {" + groups + "}}\n") +
                              "$femcg mesh case.yaml --output made && $femcg check case.yaml");
    INFO(mesh, made.out, made.err);
    CHECK(made.status == 0);
    CHECK(contains(made.out, fmt::format("{:.6g}", 6 * length * length * length)));
    CHECK(contains(made.out, fmt::format("[0, {:.4g}] x [0, {:.4g}] x [0, {:.4g}]", length, 2 * length, 3 * length)));
    return made.err;
  };
  const auto groups = [](double length) {
    return fmt::format("end: {{dimension: 2, where: 'z > {}'}}, side: {{dimension: 2, near: [{}, {}, {}]}}",
                       2.99 * length, 1.1 * length, length, length);
  };
  CHECK(contains(
      measured("file: box.geo", groups(1), 1),
      "note: lengths were taken as metres, since the file states no unit (mesh.unit): the mesh measures 1 x 2 x 3"));
  CHECK(
      contains(measured("file: box.msh, scale: 2", groups(2), 2), "no unit (mesh.unit) and multiplied by 2: the mesh"));
  CHECK_FALSE(contains(measured("file: box.msh, unit: m", groups(1), 1), "lengths were"));
  CHECK(
      contains(measured("file: box.geo, unit: in, size: 0.02", groups(0.0254), 0.0254), "converted from in to metres"));
  CHECK(contains(measured("file: box.msh, unit: mm", groups(1e-3), 1e-3), "converted from mm to metres"));
  CHECK(contains(measured("file: box.step, size: 0.001", groups(1e-3), 1e-3),
                 "converted from mm to metres: the mesh measures 0.001 x"));
  CHECK(
      contains(measured("file: box.step, size: 0.1, scale: 100", groups(0.1), 0.1), "to metres and multiplied by 100"));
  CHECK(contains(measured("file: box.step, size: 0.01, unit: cm", groups(0.01), 0.01),
                 "lengths were taken as cm, though the file states mm: the mesh measures 0.01 x 0.02 x 0.03"));
  // The number of cells does not depend on the unit, if the size has the same unit.
  const auto cells = [&](const std::string& options) {
    const Result made = shell(files + "$femcg mesh box.geo --output made " + options + " | head -1");
    return made.out;
  };
  CHECK(cells("--size 0.5") == cells("--size 0.0005 --unit mm"));
}

TEST_CASE("a wrong unit or scale is one sentence" * needs_gmsh()) {
  const std::string geo = file("box.geo", bar);
  const auto refused = [&](const std::string& mesh, const std::string& part, const std::string& more = "") {
    check_refused("check case.yaml", part, geo + more + file("case.yaml", "mesh: {file: " + mesh + "}\n"));
  };
  refused("box.geo, unit: meter",
          "case.yaml:1:29: mesh.unit must be auto, m, mm, cm, um, nm, km, in or ft, not 'meter'");
  refused("box.geo, scale: 0", "case.yaml:1:30: mesh.scale must be a positive number, not '0'");
  refused("box.geo, size: 1e-3, unit: km",
          "far too small for the geometry, which measures 2000 x 1000 x 1000: is mesh.unit right?");
  refused("box.igs, unit: mm", "mesh.unit cannot replace the unit that this file states", file("box.igs", "S\n"));
  check_refused("mesh box.geo --unit mile", "--unit: mesh.unit must be auto, m, mm", geo);
  check_refused("check case.yaml", "case.yaml:1:30: mesh.unit goes with mesh.file, not with a box",
                file("case.yaml", "mesh: {box: {cells: [2, 2]}, unit: mm}\n"));
}

TEST_CASE("sizes: the cells at a group are as large as it says, and elsewhere as before" * needs_gmsh()) {
  // Side of the equilateral triangle with the mean area of a face's facets, from the table.
  const auto side = [](const std::string& table, const std::string& group) {
    std::istringstream lines(table.substr(table.find("\nfaces\n")));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t at = line.find("  " + group + "  ");
      if (at == std::string::npos) continue;
      std::istringstream numbers(line.substr(at + group.size() + 4));
      double facets = 0, area = 0;
      numbers >> facets >> area;
      return std::sqrt(area / facets * 4 / std::sqrt(3.0));
    }
    return 0.0;
  };
  const std::string named = bar + "Physical Surface(\"left\") = {1};\nPhysical Surface(\"right\") = {6};\n";
  const std::string hole = "groups: {hole: {dimension: 2, where: 'sqrt((x - 1)^2 + (y - 0.5)^2) < 0.2001'}}";
  const auto table = [&](const std::string& keys) {
    const Result made =
        shell(file("bar.geo", named) + file("case.yaml", "mesh: {file: bar.geo, size: 0.3, " + hole + keys + "}\n") +
              "$femcg mesh case.yaml --output made");
    INFO(keys, made.err);
    CHECK(made.status == 0);
    return made.out;
  };
  const std::string plain = table("");
  CHECK(side(plain, "left") == Approx(0.26).epsilon(0.2));
  const std::string by_file = table(", sizes: {left: 0.05}"), by_rule = table(", sizes: {hole: 0.05}");
  CHECK(side(by_file, "left") == Approx(0.05).epsilon(0.1));
  CHECK(side(by_file, "right") == Approx(side(plain, "right")));
  CHECK(side(by_rule, "hole") == Approx(0.05).epsilon(0.1));
  CHECK(side(by_rule, "left") == Approx(side(plain, "left")));
  const std::string both = table(", sizes: {left: 0.1, hole: 0.05}, order: 2, refine: 0");
  CHECK(side(both, "left") == Approx(0.1).epsilon(0.15));
  CHECK(side(both, "hole") == Approx(0.05).epsilon(0.1));
  // Size at a region, whose cells alone have it; in another unit; larger than elsewhere.
  CHECK(side(table(", sizes: {left: 0.5}"), "left") > 0.3);
  const std::string in_mm =
      shell(file("bar.geo", named) +
            "$femcg mesh bar.geo --size 0.0003 --unit mm --set mesh.sizes.left=0.00005 --output made")
          .out;
  CHECK(side(in_mm, "left") == Approx(0.05e-3).epsilon(0.1));
  const std::string by_region = shell(file("bar.geo", bar) +
                                      "$femcg mesh bar.geo --size 0.3 --set 'mesh.groups={steel: {dimension: 3, where: "
                                      "x > -1}, all_left: {dimension: 2, "
                                      "tags: [1]}}' --set mesh.sizes.steel=0.1 --output made")
                                    .out;
  CHECK(side(by_region, "all_left") == Approx(0.1).epsilon(0.15));
}

TEST_CASE("wrong sizes are one sentence" * needs_gmsh()) {
  const auto refused = [&](const std::string& mesh, const std::string& part) {
    check_refused(
        "check case.yaml", part,
        file("bar.geo", bar) + file("bar.msh", "$MeshFormat\n") + file("case.yaml", "mesh: {" + mesh + "}\n"));
  };
  refused(
      "file: bar.geo, sizes: {bore: 1}",
      "case.yaml:1:1: bar.geo: mesh.sizes names 'bore', but neither the file nor mesh.groups has a group; femcg mesh");
  refused("file: bar.geo, groups: {hole: {dimension: 2, tags: [7]}}, sizes: {bore: 1}",
          "mesh.sizes names 'bore', but the groups are hole; femcg mesh shows what there is");
  refused("file: bar.geo, sizes: {hole: 0}", "case.yaml:1:37: mesh.sizes.hole must be a positive number, not '0'");
  refused("file: bar.geo, sizes: 1", "case.yaml:1:30: mesh.sizes must be");
  refused("file: bar.geo, groups: {hole: {dimension: 2, tags: [7]}}, sizes: {hole: 1e-9}",
          "cells of size 1e-09 are far too small");
  refused("file: bar.geo, groups: {hole: {dimension: 2, tags: [77]}}, sizes: {hole: 1}",
          "group 'hole' names entity 77");
  refused("file: bar.msh, sizes: {hole: 1}", "case.yaml:1:30: mesh.sizes is for geometry files");
  refused("box: {cells: [2, 2]}, sizes: {left: 1}", "case.yaml:1:30: mesh.sizes goes with mesh.file, not with a box");
}
