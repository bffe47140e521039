// What a run writes for those who look at pictures: names and units, gradients and fluxes, the boundary.
#include <doctest/doctest.h>

#include <string>

#include "tests/program.hpp"

using namespace femcg::tests;

namespace {

/// Runs a case into the folder `made`, quietly, and then what comes after.
std::string run(const std::string& text, const std::string& then) {
  return file("case.yaml", text) + "$femcg run case.yaml --quiet --threads 2 --set solver.device=cpu " +
         "--set output.directory=made " + then;
}

/// What check_fields.py does, which must succeed.
std::string vtk(const std::string& arguments) {
  return "&& '" FEMCG_VTK_PYTHON "' '" + (source_directory() / "tests/check_fields.py").string() + "' " + arguments;
}

const std::string plate =
    "mesh: {box: {cells: [4, 3], distort: 0.1}}\ndegree: 2\nboundary: {left: {value: 0}, right: {value: 1}}\n";

}  // namespace

TEST_CASE("files and summary call the solution by its name and unit") {
  const std::string named = plate + "name: temperature\nunit: '°C & <more>'\n";
  CHECK(shell(run(plate, vtk("names made/solution.vtu"))).out == "point u 1\ncell region 1\n");
  CHECK(shell(run(named + "exact: x\n", vtk("names made/solution.vtu"))).out ==
        "point temperature 1 in °C & <more>\npoint exact 1 in °C & <more>\npoint error 1 in °C & <more>\n"
        "cell region 1\n");
  CHECK(shell(run(named + "loads: {sun: {}}\n", vtk("names made/solution.vtu"))).out ==
        "point temperature_sun 1 in °C & <more>\ncell region 1\n");
  CHECK(contains(shell(run(named, "; cat made/result.json")).out,
                 "\"solution\": {\n    \"name\": \"temperature\",\n    \"unit\": \"°C & <more>\"\n  }"));
  CHECK_FALSE(contains(shell(run(plate, "; cat made/result.json")).out, "\"solution\""));
  const Result summary = shell(file("case.yaml", named) + "$femcg run case.yaml");
  CHECK(contains(summary.out, "  temperature from 0 to 1 °C & <more>, integral 0.5"));
  CHECK(
      contains(shell(file("case.yaml", plate) + "$femcg run case.yaml --set name=pressure").out, "  pressure    from"));
}
