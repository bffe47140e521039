// Curved domains and cases of cases/, on the host or on a GPU; most need Gmsh.

#include <doctest/doctest.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "solver/benchmark/agreement.hpp"
#include "solver/problem/make_mesh.hpp"
#include "tests/device.hpp"
#include "tests/gmsh.hpp"
#include "tests/locations.hpp"
#include "tests/problems.hpp"
#include "tests/rounding.hpp"

using namespace femcg;
using namespace femcg::tests;

namespace {

constexpr double tolerance = 1e-12;

/// Compares the products of all operators on the device of the tests with the quadrature's, up to rounding.
template <class T>
void check_products(const operators::BilinearForm& form) {
  const operators::ElementMatrices matrices = operators::assemble_element_matrices(form);
  const operators::Ingredients<T> from = ingredients<T>(form, matrices);
  const auto reference = solver::reference_product(form, solver::pseudo_random(form.unknowns));
  for (const operators::OperatorDescription& row : operators::catalogue()) {
    if (!runs_here(row)) continue;
    CAPTURE(row.name);
    const auto found = solver::agreement(*row.make<T>(from, {}), reference, static_cast<double>(unit_roundoff<T>));
    CHECK(found.difference <= found.bound);
  }
}

/// Solves again by operators on the device of the tests, and compares with csr's solution on the host. Both stop at |r|
/// = tolerance |b|, where the error may exceed this by a factor of the condition number, about (2 iterations / log(2 /
/// tolerance))^2.
void check_on_device(const Solved& on_host, const solver::Case& resolved, const mesh::Mesh& mesh) {
  check_products<double>(on_host.problem->form());
  check_products<float>(on_host.problem->form());
  const double condition = std::pow(2 * static_cast<double>(on_host.cg.iterations) / std::log(2 / tolerance), 2);
  double largest = 0;
  for (const double u : on_host.dofs) largest = std::max(largest, std::abs(u));
  for (const std::string name : {"csr", "sell", "lma-coloured", "lma-gather", "matrix-free"}) {
    CAPTURE(name);
    const Solved here = solve(resolved, mesh, name, tolerance, tests::device());
    CHECK(here.cg.reason == solver::StopReason::converged);
    REQUIRE(here.dofs.size() == on_host.dofs.size());
    double worst = 0;
    bool finite = true;
    for (std::size_t i = 0; i < here.dofs.size(); ++i) {
      finite = finite && std::isfinite(here.dofs[i]);
      worst = std::max(worst, std::abs(here.dofs[i] - on_host.dofs[i]));
    }
    CHECK(finite);
    CHECK(worst <= 2 * condition * tolerance * largest);
  }
}

/// Quantities of a case's solution, at its probes too.
solver::Quantities measured(const Solved& solved, const solver::Case& resolved, const mesh::Mesh& mesh) {
  return solver::measure(*solved.problem, solved.problem->loads().front(),
                         solver::locate_probes(resolved.output.probes, mesh), solved.dofs);
}

}  // namespace

TEST_CASE("on a disk the geometry's order limits the rate: u = 1 - r^2 with cells of order g and degree 4" *
          needs_gmsh()) {
  for (const bool tensor : {false, true})
    for (int order = 2; order <= 4; ++order) {
      CAPTURE(tensor);
      CAPTURE(order);
      std::vector<double> errors;
      for (const int refine : {1, 2}) {
        mesh::GmshOptions options;
        options.file = source_directory() / "cases/meshes/disk.geo";
        options.size = 0.4;
        options.order = order;
        options.tensor_cells = tensor;
        options.refine = refine;
        const mesh::Mesh mesh = mesh::read_gmsh(options);
        solver::Case made = make_case(4, "1", "4");
        made.problem.quadrature = 7;
        made.problem.exact = field("1-x^2-y^2");
        made.problem.boundary = {value_on("rim", "0")};
        const Solved solved = solve(made, mesh, "matrix-free", tolerance, tests::device());
        errors.push_back(solver::measure_errors(*made.problem.exact, *solved.problem, solved.dofs).l2);
      }
      // The boundary is interpolated with an error of h^(g+1), and of h^(g+2) for even g by symmetry about each edge's
      // midpoint.
      const double rate = std::log2(errors[0] / errors[1]);
      CAPTURE(rate);
      CHECK(rate > order + 1 - 0.2);
      CHECK(rate < order + 2.3);
    }
}

TEST_CASE("straight cells on a disk are only second order, whatever the degree" * needs_gmsh()) {
  std::vector<double> errors;
  for (const int refine : {0, 1}) {
    mesh::GmshOptions options;
    options.file = source_directory() / "cases/meshes/disk.geo";
    options.size = 0.4;
    options.refine = refine;
    const mesh::Mesh mesh = mesh::read_gmsh(options);
    solver::Case made = make_case(4, "1", "4");
    made.problem.exact = field("1-x^2-y^2");
    made.problem.boundary = {value_on("rim", "0")};
    const Solved solved = solve(made, mesh, "csr", tolerance, tests::device());
    errors.push_back(solver::measure_errors(*made.problem.exact, *solved.problem, solved.dofs).l2);
  }
  CHECK(std::log2(errors[0] / errors[1]) == doctest::Approx(2).epsilon(0.1));
}

TEST_CASE("the heat sink's balance closes: what the base takes in, the air takes away" * needs_gmsh()) {
  const std::filesystem::path file = source_directory() / "cases/heat_sink.yaml";
  const solver::Case resolved = solver::read_case(file, {{"mesh.size", "0.006"}, {"degree", "2"}});
  const mesh::Mesh mesh = solver::make_mesh(resolved.mesh);
  const Solved solved = solve(resolved, mesh, "csr", tolerance);
  const solver::Quantities quantities =
      solver::measure(*solved.problem, solved.problem->loads().front(), {}, solved.dofs);
  CHECK(quantities.flux.at("bottom") > 10);
  CHECK(std::abs(quantities.flux.at("bottom") + quantities.flux.at("air")) < 1e-6 * quantities.flux.at("bottom"));
  // Independent of the computation of fluxes: the Robin loss integrated over the air's facets from the nodal values.
  const operators::BilinearForm& form = solved.problem->form();
  operators::FacetEvaluator evaluator(*solved.space, form.quadrature);
  double loss = 0;
  for (const operators::RobinFacet& facet : form.robin) {
    evaluator.move_to({facet.cell, facet.facet});
    for (int q = 0; q < evaluator.points(); ++q) {
      double u = 0;
      for (int a = 0; a < form.dofs_per_cell(); ++a)
        u += evaluator.values()(q, a) * solved.dofs[solved.space->dofs(facet.cell)[a]];
      loss += evaluator.measures()[q] * facet.transfer[q] * (u - 25);
    }
  }
  CHECK(std::abs(quantities.flux.at("bottom") - loss) < 1e-6 * loss);
  check_on_device(solved, resolved, mesh);
}

TEST_CASE("the loads of the heat sink add up: seven give the eighth" * needs_gmsh()) {
  const std::filesystem::path file = source_directory() / "cases/heat_sink_loads.yaml";
  const solver::Case resolved = solver::read_case(file, {{"mesh.size", "0.006"}, {"degree", "1"}});
  const mesh::Mesh mesh = solver::make_mesh(resolved.mesh);
  const mesh::FunctionSpace space(mesh, resolved.degree);
  const solver::Problem problem(resolved.problem, space);
  REQUIRE(problem.loads().size() == 8);
  const Assembled assembled(problem);
  std::vector<double> sum(space.dof_count(), 0.0);
  for (const solver::Load& load : problem.loads()) {
    const std::vector<double> dofs = solve_with("csr", assembled, problem, tolerance, nullptr, &load);
    const solver::Quantities quantities = solver::measure(problem, load, {}, dofs);
    if (load.name().starts_with("fin ")) CHECK(quantities.flux.at("air") == doctest::Approx(-9.99).epsilon(1e-6));
    if (load.name() != "all") {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += dofs[i];
      continue;
    }
    double difference = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) difference = std::max(difference, std::abs(sum[i] - dofs[i]));
    CHECK(difference < 1e-7 * quantities.maximum);
  }
}

TEST_CASE("a keyway weakens a shaft by a little" * needs_gmsh()) {
  const std::filesystem::path file = source_directory() / "cases/shaft_keyway.yaml";
  const solver::Case resolved = solver::read_case(file);
  const mesh::Mesh mesh = solver::make_mesh(resolved.mesh);
  CHECK(mesh.order == 2);
  const Solved solved = solve(resolved, mesh, "csr", tolerance);
  check_on_device(solved, resolved, mesh);
  const solver::Quantities quantities = measured(solved, resolved, mesh);
  // A full circle of radius 1 has u(0) = 1/2 and integral pi / 4: a keyway reduces both slightly.
  CHECK(quantities.maximum < 0.5);
  CHECK(quantities.maximum > 0.4);
  CHECK(quantities.integral < M_PI / 4);
  CHECK(quantities.integral > 0.8 * M_PI / 4);
}

TEST_CASE("a furnace's wall behind wool and steel: thermal resistances in series") {
  const solver::Case resolved = solver::read_case(source_directory() / "cases/furnace_wall.yaml");
  const mesh::Mesh mesh = solver::make_mesh(resolved.mesh);
  const Solved solved = solve(resolved, mesh, "csr", tolerance);
  check_on_device(solved, resolved, mesh);
  const solver::Quantities quantities = measured(solved, resolved, mesh);
  const double outside = 0.05 / 0.06 + 0.003 / 45 + 1.0 / 10,
               heat = (1200 - 25) / (1.0 / 50 + 0.23 / 1.2 + outside);  // through a square metre
  CHECK(quantities.flux.at("left") == doctest::Approx(heat).epsilon(1e-9));
  CHECK(quantities.flux.at("right") == doctest::Approx(-heat).epsilon(1e-9));
  CHECK(quantities.probes[0].second == doctest::Approx(25 + heat * outside).epsilon(1e-9));
  const auto says = [](const std::string& warning) {
    return warning.starts_with(
        "boundary.right: its layers, of resistance 0.8334, make it {transfer: 1.07135, ambient: 25}");
  };
  CHECK(std::ranges::count_if(solved.problem->warnings(), says) == 1);
}

TEST_CASE("an insulated pipe, a body of revolution: thermal resistances of shells in series" * needs_gmsh()) {
  const solver::Case resolved = solver::read_case(source_directory() / "cases/insulated_pipe.yaml");
  const mesh::Mesh mesh = solver::make_mesh(resolved.mesh);
  const Solved solved = solve(resolved, mesh, "csr", tolerance);
  check_on_device(solved, resolved, mesh);
  const solver::Quantities quantities = measured(solved, resolved, mesh);
  const double two_pi_length = 2 * M_PI * 0.2, outside = std::log(0.106 / 0.056) / 0.04 + 1 / (10 * 0.106),
               heat = two_pi_length * (90 - 20) / (1 / (1000 * 0.05) + std::log(0.056 / 0.05) / 50 + outside);
  CHECK(quantities.flux.at("water") == doctest::Approx(heat).epsilon(2e-6));
  CHECK(quantities.flux.at("air") == doctest::Approx(-heat).epsilon(2e-6));
  CHECK(quantities.groups.at("air").area == doctest::Approx(two_pi_length * 0.106).epsilon(1e-12));
  CHECK(quantities.regions.at("wool").volume ==
        doctest::Approx(two_pi_length / 2 * (0.106 * 0.106 - 0.056 * 0.056)).epsilon(1e-12));
  CHECK(quantities.probes[0].second == doctest::Approx(20 + heat / two_pi_length * outside).epsilon(1e-6));
  CHECK(quantities.probes[1].second == doctest::Approx(20 + heat / two_pi_length / (10 * 0.106)).epsilon(1e-6));
}

TEST_CASE("the capacitances of a triaxial cable: logarithms of radii" * needs_gmsh()) {
  const solver::Case resolved = solver::read_case(source_directory() / "cases/triaxial_cable.yaml");
  const mesh::Mesh mesh = solver::make_mesh(resolved.mesh);
  const mesh::FunctionSpace space(mesh, resolved.degree);
  const solver::Problem problem(resolved.problem, space);
  const Assembled assembled(problem);
  const double inside = 2 * M_PI * 2.25 * 8.8541878 / std::log(1.5 / 0.5),
               outside = 2 * M_PI * 2.1 * 8.8541878 / std::log(2.5 / 1.7);
  const double exact[3][3] = {{inside, -inside, 0}, {-inside, inside + outside, -outside}, {0, -outside, outside}};
  REQUIRE(problem.loads().size() == 3);
  for (std::size_t j = 0; j < 3; ++j) {
    const solver::Load& load = problem.loads()[j];
    CHECK(load.name() == resolved.problem.terminals[j]);
    const std::vector<double> dofs = solve_with("csr", assembled, problem, 1e-13, nullptr, &load);
    const solver::Quantities quantities = solver::measure(problem, load, {}, dofs);
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(quantities.flux.at(resolved.problem.terminals[i]) ==
            doctest::Approx(exact[i][j]).epsilon(1e-6).scale(inside));
  }
}

TEST_CASE("curved tetrahedra of a flange, heated in its bore: every operator of this device" * needs_gmsh()) {
  mesh::GmshOptions options;
  options.file = source_directory() / "cases/meshes/pipe_flange.geo";
  options.size = 0.012;
  options.order = 2;
  const mesh::Mesh mesh = mesh::read_gmsh(options);
  for (int degree = 1; degree <= 3; ++degree) {
    CAPTURE(degree);
    solver::Case made = make_case(degree, "40 + 1000*z", "0");
    made.problem.boundary = {transfer_on("bore", "500 + 1e4*z", "200"), value_on("mating_face", "20")};
    check_on_device(solve(made, mesh, "csr", tolerance), made, mesh);
  }
}
