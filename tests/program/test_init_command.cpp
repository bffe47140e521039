// femcg init: the written case passes the check, also with its examples, and can be solved; existing files are not
// changed.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "mesh/gmsh/gmsh_reader.hpp"
#include "solver/case/case_schema.hpp"
#include "solver/inspection/drafted_groups.hpp"
#include "tests/gmsh.hpp"
#include "tests/program.hpp"

using namespace femcg::tests;

namespace {

/// Shell command that turns example lines into keys.
const std::string with_examples =
    "sed -E 's/^( *)# ( *[a-z_]+: *[^ #].*)$/\\1\\2/; s/^( *)# (groups: )/\\1\\2/; s/^  #   /    /' ";

}  // namespace

TEST_CASE("init writes a case that checks, solves and says how") {
  const Result made =
      shell("$femcg init && $femcg check --quiet case.yaml && $femcg run --quiet case.yaml && ls results");
  CHECK(made.status == 0);
  CHECK(made.err.empty());
  CHECK(made.out ==
        "case.yaml is a case to change, case.schema.json what editors complete it with; next: femcg check "
        "case.yaml\ncase\n");
  const Result text = shell("$femcg init 'a b' > /dev/null && cat 'a b.yaml' && cmp case.schema.json <($femcg schema)");
  CHECK(text.status == 0);
  CHECK(text.out.starts_with("# yaml-language-server: $schema=case.schema.json\n"));
  CHECK(contains(text.out, "#   femcg run 'a b.yaml'\n"));
  CHECK(contains(text.out, "\ntitle: 'a b' "));
}

TEST_CASE("the examples of init are right as well") {
  const Result box = shell("$femcg init > o && " + with_examples + "case.yaml > all.yaml && $femcg check all.yaml");
  CHECK(box.status == 0);
  CHECK(box.err.empty());
  for (const char* key : {"refine: 1", "name: temperature", "unit: degC", "left: {flux: 5}", "device: cpu",
                          "right: {transfer: 10, ambient: 20}", "fields: [u, flux]", "centre: [0.5, 0.5]"})
    CHECK_MESSAGE(contains(box.out, key), key, " is not in ", box.out);
}

TEST_CASE("init of a geometry names the file and says how its groups are found" * needs_gmsh()) {
  const std::string copy = "cp $cases/../../cases/meshes/heat_sink.step 'my part.step'\n";
  const Result made =
      shell(copy + "$femcg init 'my part.step' > o && $femcg check --quiet 'my part.yaml' && cat 'my part.yaml'");
  CHECK(made.status == 0);
  CHECK(contains(made.out, "\n  file: 'my part.step' "));
  CHECK(contains(made.out, "What there is, by tag, and a draft of groups: femcg mesh "));
  CHECK(contains(made.out, "\n# Lengths of the file become metres (mesh.unit)."));
  CHECK(contains(made.out, "\n  preconditioner: auto "));
  const Result all = shell(copy + "$femcg init 'my part.step' > o && " + with_examples +
                           "'my part.yaml' > all.yaml && $femcg check all.yaml");
  INFO(all.err);
  CHECK(all.status == 0);
  // Two planes of z, each with its faces; six fins and the plate.
  CHECK(contains(made.out, "    bottom: {dimension: 2, tags: [5]}   # plane z = 0, area 0.0036\n"));
  CHECK(
      contains(made.out,
               "    top: {dimension: 2, tags: [21, 26, 31, 36, 41, 46]}   # plane z = 0.036, 6 faces, area 0.00108\n"));
  CHECK(contains(made.out, "    solid_1: {dimension: 3, tags: [1]}   # solid, volume "));
  CHECK(contains(all.out, "  bottom: {flux: 5}"));
  const Result drilled = shell("$femcg init $cases/../../cases/meshes/bracket.step > o 2> n && cat bracket.yaml");
  for (const char* group :
       {"holes_r8mm: {dimension: 2, tags: [14, 19]}   # hollow cylinder of radius 0.008, 2 faces,",
        "cylinders_r12mm: {dimension: 2, tags: [3, 7, 13, 17]}   # cylinder of radius 0.012, 4 faces,",
        "plane_z_8mm: {dimension: 2, tags: [12]}   # plane z = 0.008,"})
    CHECK_MESSAGE(contains(drilled.out, group), group, " is not in ", drilled.out);
  const Result msh =
      shell("mkdir a && cp $cases/../meshes/*.msh a && cd a && $femcg init $(ls | head -1) && cat *.yaml");
  CHECK(contains(msh.out, "physical groups"));
  CHECK_FALSE(contains(msh.out, "order: 2"));
}

TEST_CASE("groups are drafted of cylinders along any axis, and of neither cones nor spheres" * needs_gmsh()) {
  femcg::mesh::GmshOptions options;
  options.file = std::filesystem::temp_directory_path() / ("femcg_test_init_" + std::to_string(::getpid()) + ".geo");
  std::ofstream(options.file)
      << ("SetFactory(\"OpenCASCADE\");\n"
          "Box(1) = {0, 0, 0, 0.1, 0.1, 0.1};\n"
          "Cylinder(2) = {-0.05, -0.02, -0.01, 0.2, 0.15, 0.13, 0.0125};\n"
          "Sphere(3) = {0.1, 0, 0.1, 0.02};\n"
          "Cone(4) = {0.02, 0.08, 0.02, 0, 0, 0.1, 0.005, 0.02};\n"
          "BooleanDifference(5) = { Volume{1}; Delete; }{ Volume{2, 3, 4}; Delete; };\n"
          "Mesh.MeshSizeMax = 0.02;\n");
  const femcg::mesh::EntityMesh by_entity = femcg::mesh::read_gmsh_entities(options);
  std::filesystem::remove(options.file);
  std::set<std::string> names;
  for (const auto& group : femcg::solver::drafted_groups(by_entity, femcg::solver::inspect(by_entity)))
    names.insert(group.name);
  std::string text;
  for (const std::string& name : names) text += name + " ";
  CHECK(text == "back bottom curved_1 curved_2 front holes_r12_5mm left plane_z_20mm right top ");
}

TEST_CASE("init leaves alone what is there, and refuses what it cannot write in one sentence") {
  check_refused("init", "'case.yaml' is there already and stays as it is; give another name: femcg init NAME",
                "echo mine > case.yaml");
  CHECK(shell("echo mine > a.yaml; $femcg init a.yaml; cat a.yaml; ls | grep -c schema").out == "mine\n0\n");
  CHECK(shell("echo mine > case.schema.json; $femcg init > o; cat case.schema.json").out == "mine\n");
  check_refused("init part.step", "part.step: there is no such file");
  check_refused("init no/such", "there is no such folder: 'no'");
  check_refused("init notes.txt", "'notes.txt' is there, and neither a mesh nor a geometry", "echo > notes.txt");
  check_refused("init a b", "one argument too many: 'b'");
  check_refused("init --size 1", "unknown option '--size'");
  check_refused("init $'a\\nb'", "is no name for a case");
  const Result nowhere = shell("$femcg init /proc/x");
  CHECK(nowhere.status == 3);
  CHECK(lines(nowhere.err) == 1);
}
