// Terminals: a load for each, and the matrix of fluxes between them; bodies of revolution, through the program.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "operators/forms/check/form_product.hpp"
#include "tests/problems.hpp"
#include "tests/program.hpp"
#include "tests/scratch_folder.hpp"

using namespace femcg;
using namespace femcg::tests;

namespace {

/// Three conductors on a box, with a grounded one, heat transfer and a source, which the terminals' loads leave out.
const std::string conductors =
    "mesh: {box: {cells: [5, 4, 3], size: [1, 0.8, 0.6], cell: hexahedron, distort: 0.1}}\ndegree: 2\n"
    "equation: {source: 7, diffusion: {xx: 2 + x, yy: 1, zz: 3, xy: 0.4}}\nboundary:\n  left: {value: 5}\n"
    "  top: {value: 3}\n  back: {transfer: 0.5, ambient: 4}\n";

nlohmann::json result_of(const std::string& text, const std::string& arguments = {}) {
  const Result made =
      shell(file("case.yaml", text) + "$femcg run case.yaml --quiet --threads 2 --output made " +
            "--set solver.device=cpu --set solver.tolerance=1e-12 " + arguments + " && cat made/result.json");
  REQUIRE_MESSAGE(made.status == 0, made.err);
  return nlohmann::json::parse(made.out);
}

/// Sentences about a case that must be refused.
std::string refused(const std::string& text) {
  const Result made = shell(file("case.yaml", text) + "$femcg check case.yaml");
  CHECK(made.status == 2);
  return made.err;
}

}  // namespace

TEST_CASE("the matrix of terminals is u_i'Au_j, symmetric, the same with every operator and preconditioner") {
  const std::string text = conductors + "terminals: [left, right, bottom]\n";
  const auto matrix = result_of(text)["terminals"]["matrix"].get<std::vector<std::vector<double>>>();
  // By definition: the solutions of three loads made by hand, and products of the form.
  const ScratchFolder folder("terminals");
  const solver::Case made = solver::read_case(folder.write("case.yaml", text));
  const mesh::Mesh mesh = mesh::make_box(std::get<mesh::BoxOptions>(made.mesh.source));
  const mesh::FunctionSpace space(mesh, made.degree);
  const solver::Problem problem(made.problem, space);
  const Assembled assembled(problem);
  std::vector<std::vector<double>> solutions, products;
  for (const solver::Load& load : problem.loads()) {
    solutions.push_back(solve_with("csr", assembled, problem, 1e-13, nullptr, &load));
    const mesh::Array<double> product = operators::FormProduct(problem.form()).apply_to_dofs(solutions.back());
    products.emplace_back(product.begin(), product.end());
  }
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      double energy = 0;
      for (std::size_t dof = 0; dof < products[j].size(); ++dof) energy += solutions[i][dof] * products[j][dof];
      CHECK(matrix[i][j] == doctest::Approx(energy).epsilon(1e-8));
      CHECK(matrix[i][j] == doctest::Approx(matrix[j][i]).epsilon(1e-9));
      CHECK((i == j ? matrix[i][j] > 0 : matrix[i][j] < 0));
    }
  for (const std::string op : {"csr", "sell", "lma-gather", "matrix-free"})
    for (const std::string preconditioner : {"jacobi", "multigrid"}) {
      const auto other =
          result_of(text, "--set solver.operator=" + op + " --set solver.preconditioner=" + preconditioner);
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 3; ++j)
          CHECK(other["terminals"]["matrix"][i][j].get<double>() == doctest::Approx(matrix[i][j]).epsilon(1e-8));
    }
  const Result summary = shell(file("case.yaml", text) + "$femcg run case.yaml --set solver.device=cpu");
  CHECK(
      contains(summary.out,
               "  terminals                                left            right           bottom              sum\n"));
}

TEST_CASE("symmetry multiplies the matrix of terminals") {
  const std::string text = conductors + "terminals: [left, right]\n";
  const double one = result_of(text)["terminals"]["matrix"][0][1].get<double>();
  CHECK(result_of(text, "--set symmetry=4")["terminals"]["matrix"][0][1].get<double>() == doctest::Approx(4 * one));
}

TEST_CASE("wrong terminals are refused with file, line and what would be right") {
  CHECK(contains(refused(conductors + "terminals: [left, roof]\n"), "the mesh has no boundary group 'roof'"));
  CHECK(contains(
      refused(conductors + "terminals: [left, back]\n"),
      "case.yaml:8:19: 'back' is no terminal, since 'boundary' does not prescribe its value; leave it out there"));
  CHECK(contains(refused(conductors + "terminals: [left, left]\n"), "case.yaml:8:19: 'left' is a terminal already"));
  CHECK(contains(refused(conductors + "terminals: [left]\nloads: {sun: {}}\n"),
                 "'terminals' make the loads; leave out one of 'terminals' and 'loads'"));
  CHECK(contains(refused(conductors + "terminals: [left]\nexact: x\n"),
                 "'exact' is the solution for one load; leave it out, or the terminals"));
  CHECK(contains(refused(conductors + "terminals: left\n"),
                 "terminals must be a list of groups, such as [core, shield], not 'left'"));
  CHECK(contains(refused(conductors + "terminals: []\n"), "terminals must be a list of groups"));
}

TEST_CASE("a cylinder as a body of revolution has the areas, volume, means and fluxes of the solid one") {
  // Radius 0.5, height 2; heated with 3 W/m3, cooled outside by 2 (u - 1): u = 1 + 3 r/(2 2) + 3/4 (r^2 - x^2) at x.
  const std::string cylinder =
      "mesh: {box: {cells: [6, 4], size: [0.5, 2], cell: CELL, distort: 0.1}}\ngeometry: axisymmetric\ndegree: 2\n"
      "equation: {source: 3}\nboundary: {right: {transfer: 2, ambient: 1}}\n"
      "exact: 1 + 3*0.5/4 + 0.75*(0.25 - x^2)\n";
  for (const std::string cell : {"triangle", "quadrilateral"})
    for (const std::string op : {"csr", "lma-gather", "matrix-free"})
      for (const std::string preconditioner : {"jacobi", "multigrid", "tensor"}) {
        if (cell == "triangle" && preconditioner == "tensor") continue;
        CAPTURE(cell);
        CAPTURE(op);
        CAPTURE(preconditioner);
        std::string text = cylinder;
        text.replace(text.find("CELL"), 4, cell);
        const auto result =
            result_of(text, "--set solver.operator=" + op + " --set solver.preconditioner=" + preconditioner);
        CHECK(result["error"]["relative_l2"].get<double>() < 1e-10);
        const auto& quantities = result["quantities"];
        const double volume = M_PI * 0.25 * 2;
        CHECK(quantities["regions"]["box"]["volume"].get<double>() == doctest::Approx(volume).epsilon(1e-12));
        CHECK(quantities["groups"]["right"]["area"].get<double>() == doctest::Approx(2 * M_PI).epsilon(1e-12));
        CHECK(quantities["groups"]["top"]["area"].get<double>() == doctest::Approx(M_PI * 0.25).epsilon(1e-12));
        CHECK(quantities["groups"]["left"]["area"].get<double>() == doctest::Approx(0));
        CHECK(quantities["flux"]["right"].get<double>() == doctest::Approx(-3 * volume).epsilon(1e-10));
        CHECK(quantities["balance"]["sources"].get<double>() == doctest::Approx(3 * volume).epsilon(1e-12));
        // The mean of r^2 - x^2 over the disk is r^2 / 2.
        CHECK(quantities["regions"]["box"]["mean"].get<double>() ==
              doctest::Approx(1.375 + 0.75 * 0.125).epsilon(1e-10));
        CHECK(result["problem"]["geometry"] == "axisymmetric");
      }
}

TEST_CASE("a ring's power at a point, and a mean that is fixed, are over the body of revolution") {
  const std::string cylinder = "mesh: {box: {cells: [6, 4], size: [0.5, 2]}}\ngeometry: axisymmetric\ndegree: 2\n";
  const auto ring = result_of(cylinder + "boundary: {right: {value: 0}}\npoints: {wire: {at: [0.3, 1], power: 5}}\n");
  CHECK(ring["quantities"]["flux"]["right"].get<double>() == doctest::Approx(-5).epsilon(1e-9));
  const auto free = result_of(cylinder + "boundary: {top: {flux: 1}, bottom: {flux: -1}}\n");
  CHECK(free["quantities"]["regions"]["box"]["mean"].get<double>() == doctest::Approx(0));
  CHECK(free["quantities"]["flux"]["top"].get<double>() == doctest::Approx(M_PI * 0.25).epsilon(1e-12));
}

TEST_CASE("the boundary of a body of revolution in its file: areas and fluxes of the groups, nothing on the axis") {
  const std::string text =
      "mesh: {box: {cells: [6, 4], size: [0.5, 2], distort: 0.1}}\ngeometry: axisymmetric\ndegree: 2\nequation: "
      "{source: 3}\n"
      "boundary: {right: {transfer: 2, ambient: 1}, left: {flux: 0}}\noutput: {boundary: true}\n";
  const Result made =
      shell(file("case.yaml", text) + "$femcg run case.yaml --quiet --output made && grep -c nan made/boundary.vtu");
  CHECK(made.out == "0\n");
}

TEST_CASE("wrong bodies of revolution are refused") {
  CHECK(contains(
      refused(
          "mesh: {box: {cells: [2, 2, 2], cell: hexahedron}}\ngeometry: axisymmetric\nboundary: {all: {value: 0}}\n"),
      "geometry: axisymmetric needs a plane mesh, of x, the distance from the axis, and y along it; this one "
      "is in space"));
  CHECK(contains(refused("mesh: {box: {cells: [2, 2]}}\ngeometry: spherical\n"),
                 "geometry must be cartesian or axisymmetric, not 'spherical'"));
}
