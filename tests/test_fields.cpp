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

TEST_CASE("gradients and fluxes in a file are those of a polynomial, at the nodes of every cell") {
  const std::string solved =
      "equation: {diffusion: 3, source: -6}\nexact: x*x + x*y - y\nboundary: {all: {value: x*x + x*y - y}}\n"
      "solver: {tolerance: 1e-14}\noutput: {fields: [flux, gradient, recovered_flux, recovered_gradient, u]}\n";
  for (const std::string cell : {"triangle", "quadrilateral", "tetrahedron", "hexahedron"}) {
    CAPTURE(cell);
    const std::string cells = cell[0] == 't' && cell[1] == 'r' ? "[3, 4]"
                              : cell == "quadrilateral"        ? "[3, 4]"
                                                               : "[3, 2, 2]";
    const std::string degree = cell == "tetrahedron" ? "3" : "2";
    std::string checks = vtk("names made/solution.vtu");
    const std::string vtu = "values made/solution.vtu ";
    checks += vtk(vtu + "u 'x*x + x*y - y'") + vtk(vtu + "exact 'x*x + x*y - y'") + vtk(vtu + "error 0");
    for (const std::string recovered : {"", "recovered_"}) {
      checks += vtk(vtu + recovered + "gradient '2*x + y' 'x - 1' 0") +
                vtk(vtu + recovered + "flux '-3*(2*x + y)' '3*(1 - x)' 0") +
                vtk(vtu + recovered + "flux_magnitude '3*hypot(2*x + y, 1 - x)'") +
                vtk(vtu + recovered + "gradient_magnitude 'hypot(2*x + y, 1 - x)'");
    }
    const Result result = shell(
        run("mesh: {box: {cells: " + cells + ", cell: " + cell + ", distort: 0.1}}\ndegree: " + degree + "\n" + solved,
            checks));
    INFO(result.err);
    CHECK(result.status == 0);
    const Result shared = shell(
        run("mesh: {box: {cells: " + cells + ", cell: " + cell + ", distort: 0.1}}\ndegree: " + degree + "\n" + solved,
            "--set output.fields=[u,recovered_flux] " + vtk(vtu + "recovered_flux '-3*(2*x + y)' '3*(1 - x)' 0") +
                vtk(vtu + "recovered_flux_magnitude '3*hypot(2*x + y, 1 - x)'") + vtk(vtu + "u 'x*x + x*y - y'")));
    INFO(shared.err);
    CHECK(shared.status == 0);
    CHECK(result.out ==
          "point flux 3\npoint flux_magnitude 1\npoint gradient 3\npoint gradient_magnitude 1\n"
          "point recovered_flux 3\npoint recovered_flux_magnitude 1\npoint recovered_gradient 3\n"
          "point recovered_gradient_magnitude 1\npoint u 1\npoint exact 1\npoint error 1\ncell region 1\n");
  }
}

TEST_CASE("cells share points as far as the fields are continuous") {
  const auto points = [](const std::string& fields) {
    return shell(run(plate + "output: {fields: " + fields + "}\n", vtk("points made/solution.vtu"))).out;
  };
  CHECK(points("[u]") == "63\n");
  CHECK(points("[u, recovered_flux]") == "63\n");
  CHECK(points("[recovered_gradient, flux]") == "108\n");  // 12 cells of 9
}

TEST_CASE("each load has fields of its own, and they are those of its case alone") {
  const std::string fields = "output: {fields: [u, recovered_flux]}\n";
  const Result result = shell(
      run(plate + fields + "solver: {tolerance: 1e-14}\nloads: {cold: {}, hot: {boundary: {right: {value: 3}}}}\n",
          vtk("names made/solution.vtu") + vtk("values made/solution.vtu u_hot '3*x'") +
              vtk("values made/solution.vtu recovered_flux_cold -1 0 0") +
              vtk("values made/solution.vtu recovered_flux_hot -3 0 0")));
  CAPTURE(result.err);
  CHECK(contains(result.out, "point recovered_flux_magnitude_cold 1\npoint u_hot 1\npoint recovered_flux_hot 3\n"));
  CHECK(result.status == 0);
}

TEST_CASE("fields that cannot be written are refused before anything is solved") {
  const auto refused = [](const std::string& key, const std::string& sentence) {
    check_refused("run case.yaml", sentence, file("case.yaml", plate + key));
  };
  refused(
      "output: {fields: [u, fluxes]}\n",
      "case.yaml:4:22: output.fields[1] must be u, gradient, flux, recovered_gradient or recovered_flux, not 'fluxes'");
  refused("output: {fields: []}\n", "case.yaml:4:18: output.fields must be a list of u, gradient");
  refused("output: {fields: flux}\n", "case.yaml:4:18: output.fields must be a list of u, gradient");
  refused("output: {fields: [flux, u, flux]}\n", "case.yaml:4:28: output.fields[2]: 'flux' is there already");
  refused("loads: {a: {}, magnitude_a: {}}\noutput: {fields: [flux]}\n",
          "case.yaml:5:18: output.fields: the loads 'a' and 'magnitude_a' would both have a field 'flux_magnitude_a'");
  refused("output: {fields: [flux]}\nequation: {diffusion: 1/x}\n",
          "case.yaml:5:23: equation.diffusion: 1/x is not finite (inf) at the point (0, 0); output.fields: flux is "
          "evaluated at the nodes of cells, recovered_flux only inside them");
  CHECK(shell(run(plate + "output: {fields: [recovered_flux]}\nequation: {diffusion: 1/x}\n", "")).status == 0);
}

TEST_CASE("boundary.vtu has the normal flux that the table of groups integrates, and VTK reads it") {
  const std::string polynomial =
      "equation: {diffusion: 3, source: -6}\nboundary: {all: {value: x*x + x*y - y}}\nsolver: {tolerance: 1e-14}\n";
  const std::string mixed =
      "equation: {diffusion: 1+x, source: y}\nboundary: {left: {value: y}, right: {flux: 1+sin(y)}, top: {transfer: "
      "1+x, ambient: x}, bottom: {value: 0}}\n";
  for (const std::string cell : {"triangle", "quadrilateral", "tetrahedron", "hexahedron"})
    for (const std::string degree : {"2", "3"}) {
      CAPTURE(cell);
      CAPTURE(degree);
      const bool plane = cell == "triangle" || cell == "quadrilateral";
      const std::string head = "mesh: {box: {cells: " + std::string(plane ? "[3, 4]" : "[3, 2, 2]") +
                               ", cell: " + cell + ", distort: 0.1}}\ndegree: " + degree +
                               "\noutput: {boundary: true}\n";
      const std::string check = "boundary made/boundary.vtu made/result.json ";
      const Result exact = shell(run(head + polynomial, vtk(check + "'-3*((2*x + y)*n[0] + (x - 1)*n[1])'")));
      INFO(exact.err);
      CHECK(exact.status == 0);
      const Result other = shell(run(head + mixed, vtk(check)));
      INFO(other.err);
      CHECK(other.status == 0);
    }
}

TEST_CASE("boundary.vtu: fields of loads, numbers and names of regions and groups; none where it is not asked for") {
  const std::string boundary = "output: {boundary: true}\n";
  CHECK(shell(run(plate + boundary + "name: head\nunit: m\nloads: {dry: {}, wet: {}}\n",
                  vtk("names made/boundary.vtu") + vtk("names made/solution.vtu")))
            .out ==
        "point head_dry 1 in m\npoint normal_flux_dry 1\npoint head_wet 1 in m\npoint normal_flux_wet 1\n"
        "cell group 1\ncell region 1\n"
        "text region_names: box\ntext group_names: left | right | bottom | top\n"
        "point head_dry 1 in m\npoint head_wet 1 in m\ncell region 1\n"
        "text region_names: box\ntext group_names: left | right | bottom | top\n");
  CHECK(shell(run(plate + boundary, "&& " + run(plate, "&& ls made"))).out ==
        "case.yaml\nresiduals.csv\n" + result_page + "result.json\nrun.log\nsolution.vtu\n");
  check_refused("run case.yaml", "case.yaml:4:20: output.boundary must be true or false, not 'yes'",
                file("case.yaml", plate + "output: {boundary: yes}\n"));
}
