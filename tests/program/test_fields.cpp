// Files of a run for visualisation: names and units, gradients and fluxes, the boundary.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "mesh/box/box.hpp"
#include "operators/stored/io/matrix_market.hpp"
#include "solver/fields/file_size.hpp"
#include "solver/fields/system_files.hpp"
#include "solver/messages/error.hpp"
#include "tests/problems.hpp"
#include "tests/program.hpp"

using namespace femcg::tests;

namespace {

/// Runs a case into the folder `made`, quietly, followed by `then`.
std::string run(const std::string& text, const std::string& then) {
  return file("case.yaml", text) + "$femcg run case.yaml --quiet --threads 2 --set solver.device=cpu " +
         "--set output.directory=made " + then;
}

/// Runs check_fields.py, which must succeed.
std::string vtk(const std::string& arguments) {
  return "&& '" FEMCG_VTK_PYTHON "' '" + (source_directory() / "tests/check_fields.py").string() + "' " + arguments;
}

const std::string plate =
    "mesh: {box: {cells: [4, 3], distort: 0.1}}\ndegree: 2\nboundary: {left: {value: 0}, right: {value: 1}}\n";

/// Names of regions and groups, in every file.
const std::string names = "text region_names: box\ntext group_names: left | right | bottom | top\n";

}  // namespace

TEST_CASE("files and summary call the solution by its name and unit") {
  const std::string named = plate + "name: temperature\nunit: '°C & <more>'\n";
  CHECK(shell(run(plate, vtk("names made/solution.vtu"))).out == "point u 1\ncell region 1\n" + names);
  CHECK(shell(run(named + "exact: x\n", vtk("names made/solution.vtu"))).out ==
        "point temperature 1 in °C & <more>\npoint exact 1 in °C & <more>\npoint error 1 in °C & <more>\n"
        "cell region 1\n" +
            names);
  CHECK(shell(run(named + "loads: {sun: {}}\n", vtk("names made/solution.vtu"))).out ==
        "point temperature_sun 1 in °C & <more>\ncell region 1\n" + names);
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
    CHECK(result.out.starts_with(
        "point flux 3\npoint flux_magnitude 1\npoint gradient 3\npoint gradient_magnitude 1\n"
        "point recovered_flux 3\npoint recovered_flux_magnitude 1\npoint recovered_gradient 3\n"
        "point recovered_gradient_magnitude 1\npoint u 1\npoint exact 1\npoint error 1\ncell region 1\n"
        "text region_names: box\ntext group_names: left | right | bottom | top"));
  }
}

TEST_CASE("cells share points as far as the fields are continuous") {
  const auto points = [](const std::string& fields) {
    return shell(run(plate + "output: {fields: " + fields + "}\n", vtk("points made/solution.vtu"))).out;
  };
  CHECK(points("[u]") == "63\n");
  CHECK(points("[u, recovered_flux]") == "63\n");
  CHECK(points("[recovered_gradient, flux]") == "108\n");  // 12 cells with 9 points each
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

TEST_CASE("output.degree: the solution and its fields at the nodes of lighter cells, in every file") {
  const std::string solved =
      "equation: {diffusion: 3, source: -6}\nexact: x*x + x*y - y\nboundary: {all: {value: x*x + x*y - y}}\n"
      "solver: {tolerance: 1e-14}\n";
  const std::string vtu = "values made/solution.vtu ", of_boundary = "values made/boundary.vtu u 'x*x + x*y - y'";
  struct Light {
    std::string cell, degree, type;
  };
  for (const auto& [cell, degree, type] : {Light{"triangle", "2", "69"},
                                           {"quadrilateral", "1", "9"},
                                           {"tetrahedron", "1", "10"},
                                           {"hexahedron", "2", "72"}}) {
    CAPTURE(cell);
    const bool plane = cell == "triangle" || cell == "quadrilateral";
    const std::string text = "mesh: {box: {cells: " + std::string(plane ? "[3, 4]" : "[3, 2, 2]") + ", cell: " + cell +
                             ", distort: 0.1}}\ndegree: 3\n" + solved + "output: {boundary: true, degree: " + degree;
    const Result shared =
        shell(run(text + ", fields: [u, recovered_flux]}\n",
                  vtk(vtu + "u 'x*x + x*y - y'") + vtk(vtu + "recovered_flux '-3*(2*x + y)' '3*(1 - x)' 0") +
                      vtk(of_boundary) + vtk("cells made/solution.vtu")));
    INFO(shared.err);
    CHECK(shared.status == 0);
    CHECK(contains(shared.out, " of type " + type + " in 0 1 0 1 "));
    if (cell == "tetrahedron" || cell == "triangle") continue;
    const Result jumping =
        shell(run(text + ", fields: [gradient, flux]}\n",
                  vtk(vtu + "gradient '2*x + y' 'x - 1' 0") + vtk(vtu + "flux_magnitude '3*hypot(2*x + y, 1 - x)'")));
    INFO(jumping.err);
    CHECK(jumping.status == 0);
  }
  const auto points = [](const std::string& output) {
    return shell(run(plate + "output: {" + output + "}\n", vtk("points made/solution.vtu"))).out;
  };
  CHECK(points("degree: 1") == "20\n");  // 4 x 3 cells
  CHECK(points("degree: 1, fields: [gradient]") == "48\n");
  CHECK(points("degree: 2") == "63\n");
}

TEST_CASE("output.subset: cells of regions and within a box, in every file") {
  const std::string box =
      "mesh: {box: {cells: [8, 4]}}\ndegree: 2\nboundary: {left: {value: 0}, right: {value: 1}}\n"
      "output: {boundary: true, fields: [u, flux], ";
  const std::string vtu = "values made/solution.vtu u x", of_boundary = "values made/boundary.vtu u x";
  const auto cells = [&](const std::string& output) {
    const Result result =
        shell(run(box + output + "}\nsolver: {tolerance: 1e-14}\n",
                  vtk(vtu) + vtk(of_boundary) + vtk("cells made/solution.vtu") + vtk("cells made/boundary.vtu")));
    INFO(result.err);
    CHECK(result.status == 0);
    return result.out;
  };
  // 4 x 4 cells of 1/8 x 1/4; their facets on the boundary.
  CHECK(cells("subset: {box: {max: [0.5, 2]}}") == "16 of type 70 in 0 0.5 0 1 0 0\n12 of type 68 in 0 0.5 0 1 0 0\n");
  CHECK(cells("degree: 1, subset: {regions: [box], box: {min: [0.5, 0.5], max: [1, 1]}}") ==
        "8 of type 9 in 0.5 1 0.5 1 0 0\n6 of type 3 in 0.5 1 0.5 1 0 0\n");
  // No selected cell is on the boundary.
  const Result inside = shell(run(box + "subset: {box: {min: [0.25, 0.25], max: [0.5, 0.5]}}}\n",
                                  vtk("cells made/solution.vtu") + vtk("points made/boundary.vtu")));
  CHECK(inside.out == "2 of type 70 in 0.25 0.5 0.25 0.5 0 0\n0\n");
  // By region, with several loads: the right one of two squares.
  const std::string squares =
      "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n2 1 \"left\"\n2 2 \"right\"\n$EndPhysicalNames\n"
      "$Nodes\n6\n1 0 0 0\n2 1 0 0\n3 2 0 0\n4 0 1 0\n5 1 1 0\n6 2 1 0\n$EndNodes\n"
      "$Elements\n2\n1 3 2 1 1 1 2 5 4\n2 3 2 2 2 2 3 6 5\n$EndElements\n";
  const Result region = shell(
      file("squares.msh", squares) +
      run("mesh: {file: squares.msh, refine: 1}\ndegree: 2\nboundary: {all: {value: 2*x}}\nloads: {a: {}, b: {}}\n"
          "equation: {diffusion: {left: 1, right: 3}}\noutput: {subset: {regions: [right]}, fields: [u, "
          "recovered_flux]}\n",
          vtk("cells made/solution.vtu") + vtk("names made/solution.vtu")));
  INFO(region.err);
  CHECK(region.out.starts_with(
      "4 of type 70 in 1 2 0 1 0 0\npoint u_a 1\npoint recovered_flux_a 3\npoint recovered_flux_magnitude_a 1\n"
      "point u_b 1\npoint recovered_flux_b 3\npoint recovered_flux_magnitude_b 1\ncell region 1\n"
      "text region_names: left | right\n"));
}

TEST_CASE("what cannot be written is refused before anything is solved, and sizes are said") {
  const auto refused = [](const std::string& output, const std::string& sentence) {
    check_refused("run case.yaml", sentence, file("case.yaml", plate + "output: {" + output + "}\n"));
  };
  refused("degree: 3", "case.yaml:4:18: output.degree must be at most the solution's degree, which is 2, not '3'");
  refused("subset: {regions: [fins]}", "case.yaml:4:28: output.subset.regions: the mesh has no region 'fins'");
  refused("subset: {box: {min: [2, 0]}}", "case.yaml:4:18: output.subset: no cell of the mesh has its centre inside");
  refused("subset: {box: {min: [1, 0], max: [0, 1]}}",
          "case.yaml:4:43: output.subset.box.max must be nowhere below output.subset.box.min");
  refused("subset: {box: {min: [1, 0, 0]}}", "output.subset.box.min must be a point of 2 coordinates, not 3");
  // The estimate, which femcg check prints too, compared with the written size: blocks that are stored, and runs of
  // zeros.
  const std::string big =
      "--set 'mesh.box={cells: [150, 150], distort: 0.1}' --set output.boundary=true "
      "--set solver.tolerance=1e-13 ";
  const Result sizes =
      shell(file("case.yaml", plate) + "$femcg check case.yaml " + big +
            " | grep 'Files that'; $femcg run case.yaml --quiet " + big + vtk("values results/case/solution.vtu u x") +
            " && cat results/case/solution.vtu results/case/boundary.vtu | wc -c && cat "
            "results/case/result.json");
  INFO(sizes.err);
  REQUIRE(sizes.status == 0);
  std::istringstream lines(sizes.out);
  std::string check;
  double written = 0;
  std::getline(lines, check);
  lines >> written;
  const nlohmann::json files = nlohmann::json::parse(lines)["files"];
  CHECK(files["written_bytes"].get<double>() == written);
  CHECK(files["expected_bytes"].get<double>() > 0.9 * written);
  CHECK(files["expected_bytes"].get<double>() < 1.4 * written);
  CHECK(contains(check, "# Files that femcg run writes: about "));
  CHECK_THROWS_AS(femcg::solver::require_disk("results/of/no/run", std::int64_t{1} << 60), femcg::solver::InputError);
  CHECK_NOTHROW(femcg::solver::require_disk("results/of/no/run", 1));
}

namespace {

/// A case on cells of one shape, with a solution of degree 2.
std::string saddle(const std::string& cell, int degree) {
  const bool solid = cell == "tetrahedron" || cell == "hexahedron";
  return "mesh: {box: {cells: " + std::string(solid ? "[3, 2, 2]" : "[4, 3]") + ", cell: " + cell +
         ", distort: " + (cell[0] == 't' ? "0" : "0.1") + "}}\ndegree: " + std::to_string(degree) +
         "\nboundary: {all: {value: x*x - y*y + x*y}}\nsolver: {device: cpu}\n";
}

std::string run_into(const std::string& folder, const std::string& case_file, const std::string& options) {
  return "$femcg run " + case_file + " --quiet --threads 2 --set output.directory=" + folder + " " + options;
}

/// The record in `folder`, after these commands.
nlohmann::json record_after(const std::string& commands, const std::string& folder) {
  const Result result = shell(commands + " && cat " + folder + "/result.json");
  CAPTURE(result.err);
  REQUIRE(result.status == 0);
  return nlohmann::json::parse(result.out);
}

}  // namespace

TEST_CASE("solver.initial: a solution that is there already takes no iteration, whatever its degree and its file") {
  for (const std::string cell : {"triangle", "quadrilateral", "tetrahedron", "hexahedron"}) {
    CAPTURE(cell);
    const std::string cases = file("low.yaml", saddle(cell, 2)) + file("high.yaml", saddle(cell, 3));
    for (const std::string fields : {"[u]", "[gradient, u]"}) {  // with points that cells share, and without
      CAPTURE(fields);
      const std::string low =
          run_into("low", "low.yaml", "--set solver.tolerance=1e-14 --set 'output.fields=" + fields + "'");
      const std::string high = run_into("high", "high.yaml", "--set solver.tolerance=1e-12 --set solver.initial=low");
      const nlohmann::json solve = record_after(cases + low + " && " + high, "high")["solve"];
      CHECK(solve["iterations"] <= 5);  // at which the energy of the error is known
      CHECK(solve["reason"] == "converged");
      CHECK(solve["true_relative_residual"].get<double>() < 1e-12);
    }
  }
}

TEST_CASE("solver.initial: every recurrence goes on from there to the solution that it finds from 0") {
  const std::string plate3 =
      "mesh: {box: {cells: [7, 5], distort: 0.1}}\ndegree: 3\nequation: {diffusion: 1 + x*x, source: 5}\n"
      "boundary: {left: {value: 10}, right: {flux: 2}}\nsolver: {device: cpu}\n";
  const std::string loads = "loads: {sun: {source: 5}, wind: {boundary: {right: {flux: 20}}}}\n";
  for (const std::string options :
       {"cg=classic", "cg=single-reduction", "cg=batched", "cg=block", "precision=single", "precision=mixed",
        "preconditioner=chebyshev", "tune=on --set solver.operator=sell"})
    for (const std::string& of_loads : {std::string(), loads}) {
      CAPTURE(options);
      CAPTURE(of_loads);
      if (of_loads.empty() && (options == "cg=batched" || options == "cg=block")) continue;
      const std::string with = "--set solver." + options;
      const std::string zero = file("case.yaml", plate3 + of_loads) + run_into("zero", "case.yaml", with);
      const nlohmann::json from_zero = record_after(zero, "zero");
      const std::string coarse =
          file("case.yaml", plate3 + of_loads) + run_into("coarse", "case.yaml", "--set degree=1");
      const nlohmann::json from_coarse =
          record_after(coarse + " && " + run_into("near", "case.yaml", with + " --set solver.initial=coarse"), "near");
      const auto compare = [](const nlohmann::json& near, const nlohmann::json& of_zero) {
        CHECK(near["solve"]["reason"] == "converged");
        CHECK(near["solve"]["iterations"].get<int>() > 0);
        CHECK(near["solve"]["iterations"].get<int>() < of_zero["solve"]["iterations"].get<int>());
        CHECK(near["quantities"]["integral"].get<double>() ==
              doctest::Approx(of_zero["quantities"]["integral"].get<double>()).epsilon(1e-6));
      };
      if (of_loads.empty()) {
        compare(from_coarse, from_zero);
        CHECK(from_coarse["remarks"].back() == "CG began from the solution in coarse");
      } else {
        for (std::size_t load = 0; load < 2; ++load) compare(from_coarse["loads"][load], from_zero["loads"][load]);
      }
    }
}

TEST_CASE("solver.initial: a run that stopped goes on in its own folder, and what is no solution here is refused") {
  const std::string cases = file("case.yaml", plate);
  const std::string first = "$femcg run case.yaml --quiet --set output.directory=x --set solver.max_iterations=3; ";
  const nlohmann::json record = record_after(cases + first + run_into("x", "case.yaml", "--set solver.initial=x"), "x");
  CHECK(record["solve"]["reason"] == "converged");
  const auto refusal = [&](const std::string& before, const std::string& options) {
    const Result result = shell(cases + before + "; $femcg check case.yaml --set solver.initial=y " + options);
    CHECK(result.status == 2);
    CHECK(std::ranges::count(result.err, '\n') == 1);
    return result.err;
  };
  const std::string solved = run_into("y", "case.yaml", "");
  CHECK(contains(refusal("true", ""),
                 "solver.initial: 'y': there is no such folder; give the results folder of an earlier run"));
  CHECK(contains(refusal("mkdir y", ""), "there is no solution.vtu in it; the earlier run needs output.vtu: true"));
  CHECK(contains(refusal("mkdir y; touch y/solution.pvtu", ""), "a solution in pieces"));
  CHECK(contains(refusal(solved, "--set mesh.box.cells=[4,4]"),
                 "it is of another mesh, or of a part: 12 cells, here 16"));
  CHECK(contains(refusal(solved, "--set mesh.box.cells=[3,4]"), "it is of another mesh: a node of cell 0 is at ("));
  CHECK(contains(refusal(solved, "--set mesh.box.cell=triangle --set mesh.box.cells=[3,2]"), "of another shape"));
  CHECK(contains(refusal(solved, "--set name=T"), "it has no field 'T': there is 'u'"));
  CHECK(contains(refusal("mkdir y; echo '<VTKFile>' > y/solution.vtu", ""), "not a .vtu file as femcg writes it"));
  CHECK(contains(refusal(solved + "; truncate -s -200 y/solution.vtu", ""), "'y/solution.vtu': the file is damaged"));
  const std::string in_case = file("case.yaml", plate + "solver:\n  initial: z\n");
  CHECK(contains(shell(in_case + "$femcg run case.yaml").err,
                 "case.yaml:5:12: solver.initial: 'z': there is no such folder"));
}

TEST_CASE("solver.initial: full-multigrid begins near the solution, of one load and of two, in each precision") {
  const std::string square =
      "mesh: {box: {cells: [60, 50], cell: triangle}}\ndegree: 2\nequation: {diffusion: 1 + x*x, source: 5}\n"
      "boundary: {left: {value: 10}, right: {flux: 2}}\nsolver: {device: cpu, preconditioner: multigrid}\n";
  const std::string loads = "loads: {sun: {source: 5}, wind: {boundary: {right: {flux: 20}}}}\n";
  for (const std::string options : {"cg=classic", "cg=batched", "cg=block", "precision=single", "precision=mixed",
                                    "preconditioner=auto", "tune=on --set solver.operator=sell"})
    for (const std::string& of_loads : {std::string(), loads}) {
      CAPTURE(options);
      CAPTURE(of_loads);
      if (of_loads.empty() && (options == "cg=batched" || options == "cg=block")) continue;
      const std::string with = "--set solver.tolerance=1e-7 --set solver." + options,
                        written = file("case.yaml", square + of_loads);
      const nlohmann::json zero = record_after(written + run_into("zero", "case.yaml", with), "zero");
      const nlohmann::json near =
          record_after(written + run_into("near", "case.yaml", with + " --set solver.initial=full-multigrid"), "near");
      CHECK(near["solve"]["preconditioner"] == "multigrid");
      CHECK(near["solve"]["reason"] == "converged");
      CHECK(near["solve"]["iterations"].get<int>() < zero["solve"]["iterations"].get<int>());
      CHECK(contains(near["remarks"].dump(), of_loads.empty()
                                                 ? "CG began from full multigrid's approximation, relative residual"
                                                 : "CG began load 'wind' from full multigrid's approximation"));
      for (std::size_t load = 0; load < (of_loads.empty() ? 1 : 2); ++load) {
        const auto& [found, expected] =
            of_loads.empty() ? std::pair(near, zero) : std::pair(near["loads"][load], zero["loads"][load]);
        CHECK(found["quantities"]["integral"].get<double>() ==
              doctest::Approx(expected["quantities"]["integral"].get<double>()).epsilon(1e-6));
      }
    }
  const std::string written = file("case.yaml", square);
  CHECK(shell(written + "$femcg check case.yaml --set solver.initial=full-multigrid").status == 0);
  const auto refusal = [&](const std::string& command, const std::string& options) {
    const Result result = shell(written + "$femcg " + command + " case.yaml --set solver.initial=" + options);
    CHECK(result.status == 2);
    CHECK(std::ranges::count(result.err, '\n') == 1);
    return result.err;
  };
  for (const std::string command : {"run", "check"}) {
    CHECK(contains(refusal(command, "full-multigrid --set solver.preconditioner=jacobi"),
                   "solver.initial: full-multigrid is a start that 'jacobi' does not have; use "
                   "solver.preconditioner: multigrid"));
    CHECK(contains(refusal(command, "full-multigrid --set solver.preconditioner=auto --set solver.cg=pipelined"),
                   "solver.initial: full-multigrid is a start of multigrid, but solver.cg needs a diagonal one"));
    CHECK(
        contains(refusal(command, "./full-multigrid"), "solver.initial: './full-multigrid': there is no such folder"));
  }
  const std::string in_case =
      file("case.yaml", plate + "solver:\n  preconditioner: jacobi\n  initial: full-multigrid\n");
  CHECK(contains(shell(in_case + "$femcg run case.yaml").err, "case.yaml:6:12: solver.initial: full-multigrid"));
}

TEST_CASE("system.mtx is the assembled matrix to the last bit, and load.mtx has a column for each load") {
  using namespace femcg;
  solver::Case made = make_case(2, "1+x", "1");
  made.problem.boundary = {value_on("left", "y"), transfer_on("top", "2", "1")};
  made.problem.loads = {{"one", made.problem.source, made.problem.boundary},
                        {"other", field("x"), made.problem.boundary}};
  const mesh::Mesh mesh = mesh::make_box({mesh::CellShape::triangle, {5, 4, 1}, {1, 1, 1}, 0.1});
  const mesh::FunctionSpace space(mesh, made.degree);
  const solver::Problem problem(made.problem, space);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("femcg_test_system_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  mesh::FileGroup files(folder);
  solver::add_system(problem, files);
  CHECK(std::abs(static_cast<double>(files.bytes()) / static_cast<double>(solver::bytes_of_system(problem)) - 1) < 0.3);
  files.put_in_place();
  const auto expected =
      operators::assemble<double>(problem.form(), operators::assemble_element_matrices(problem.form()));
  const operators::MatrixFile read = operators::read_matrix_market(folder / "system.mtx");
  CHECK(read.symmetry == operators::MatrixSymmetry::symmetric);
  CHECK(std::ranges::equal(read.matrix.row_offsets.span(), expected.row_offsets.span()));
  CHECK(std::ranges::equal(read.matrix.columns.span(), expected.columns.span()));
  CHECK(std::ranges::equal(read.matrix.values.span(), expected.values.span()));
  std::ifstream loads(folder / "load.mtx");
  std::string header;
  std::getline(loads, header);
  CHECK(header == "%%MatrixMarket matrix array real general");
  std::int64_t rows = 0, columns = 0;
  loads >> rows >> columns;
  CHECK(rows == expected.rows);
  CHECK(columns == 2);
  for (const solver::Load& load : problem.loads())
    for (const double value : load.values()) {
      double found = 0;
      loads >> found;
      CHECK(found == value);
    }
  std::filesystem::remove_all(folder);
}

TEST_CASE("femcg matrix reads system.mtx, and a later run without output.system takes it away") {
  const std::string then =
      "--set output.system=true; ls made; $femcg matrix made/system.mtx --operators csr --iterations 5 --repetitions 1 "
      "--output compared; $femcg run case.yaml --quiet --output made; ls made | grep -c mtx";
  const Result result = shell(run(plate, then));
  CHECK(contains(result.out, "\nload.mtx\n"));
  CHECK(contains(result.out, "\nsystem.mtx\n"));
  CHECK(contains(result.out, "system.mtx, 49 x 49, symmetric"));
  CHECK(result.out.ends_with("\n0\n"));
}
