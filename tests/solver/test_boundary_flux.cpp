// Boundary fluxes: correct for each group, in balance with the source, compared with the gradient's.
#include <doctest/doctest.h>

#include <cmath>

#include "mesh/box/box.hpp"
#include "mesh/dofs/ordering.hpp"
#include "tests/problems.hpp"

using namespace femcg;
using namespace femcg::tests;
using mesh::CellShape;

namespace {

solver::Quantities measured(const solver::Case& made, const mesh::Mesh& mesh, double tolerance = 1e-13) {
  const Solved solved = solve(made, mesh, "csr", tolerance);
  return solver::measure(*solved.problem, solved.problem->loads().front(), {}, solved.dofs);
}

mesh::Mesh distorted(CellShape shape, int n) { return mesh::make_box({shape, {n, n, n}, {1, 2, 0.5}, 0.15}); }

}  // namespace

TEST_CASE("groups that meet have their own fluxes: of a linear solution, to rounding") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 3; ++degree) {
      CAPTURE(mesh::name(shape));
      CAPTURE(degree);
      solver::Case made = make_case(degree, "3", "0");
      for (const char* side : {"left", "right", "bottom", "top"})
        made.problem.boundary.push_back(value_on(side, "x + 2*y"));
      const double depth = mesh::dimension(shape) == 3 ? 0.5 : 1;
      const solver::Quantities quantities = measured(made, distorted(shape, 3));
      const std::map<std::string, double> right{
          {"left", -6 * depth}, {"right", 6 * depth}, {"bottom", -6 * depth}, {"top", 6 * depth}};
      for (const auto& [name, flux] : right) {
        CAPTURE(name);
        const solver::GroupQuantities& group = quantities.groups.at(name);
        CHECK(std::abs(group.flux - flux) < 1e-9);
        CHECK(std::abs(group.gradient_flux - flux) < 1e-9);
        CHECK(quantities.flux.at(name) == group.flux);
      }
      const solver::GroupQuantities& top = quantities.groups.at("top");
      CHECK(top.area == doctest::Approx(depth).epsilon(1e-12));
      CHECK(top.mean == doctest::Approx(4.5).epsilon(1e-12));
      CHECK(top.minimum == doctest::Approx(4));
      CHECK(top.maximum == doctest::Approx(5));
      CHECK(quantities.regions.at("box").volume == doctest::Approx(2 * depth).epsilon(1e-12));
      CHECK(quantities.regions.at("box").mean == doctest::Approx(2.5).epsilon(1e-10));
      CHECK(quantities.balance.in == doctest::Approx(12 * depth).epsilon(1e-9));
      CHECK(quantities.balance.out == doctest::Approx(12 * depth).epsilon(1e-9));
    }
}

TEST_CASE("consistent fluxes balance as the system was solved, the gradient's by the discretisation error") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 2; ++degree) {
      CAPTURE(mesh::name(shape));
      CAPTURE(degree);
      solver::Case made = make_case(degree, "1+x*y", "sin(5*x) - 0.2");
      made.problem.boundary = {value_on("left", "y"), value_on("bottom", "x^2"), flux_on("right", "exp(y)"),
                               transfer_on("top", "1+x", "3*x")};
      const auto imbalance_of_gradients = [](const solver::Quantities& quantities) {
        double sum = quantities.balance.sources - quantities.balance.sinks;
        for (const auto& [name, group] : quantities.groups) sum += group.gradient_flux;
        return std::abs(sum);
      };
      const mesh::Mesh mesh = distorted(shape, 4);
      const solver::Quantities coarse = measured(made, mesh), fine = measured(made, mesh::refine(mesh));
      CHECK(std::abs(coarse.balance.relative_error()) < 1e-11);
      CHECK(std::abs(fine.balance.relative_error()) < 1e-11);
      CHECK(imbalance_of_gradients(coarse) > 1e-4);
      CHECK(imbalance_of_gradients(fine) < 0.7 * imbalance_of_gradients(coarse));
      const double loose = std::abs(measured(made, mesh, 1e-3).balance.relative_error());
      CHECK(loose > 1e-9);
      CHECK(loose < 1e-2);
      const solver::Balance& balance = coarse.balance;
      const double difference = balance.sources - balance.sinks;
      CHECK(difference == doctest::Approx((mesh::dimension(shape) == 3 ? 1.0 : 2.0) * ((1 - std::cos(5)) / 5 - 0.2))
                              .epsilon(degree == 1 ? 0.02 : 2e-3));
    }
}

TEST_CASE("the flux of values converges twice as fast as the gradient does") {
  // u = sinh(pi y) sin(pi x): the integral of du/dn over the top is 2 cosh(pi).
  for (const CellShape shape : {CellShape::triangle, CellShape::quadrilateral}) {
    CAPTURE(mesh::name(shape));
    solver::Case made = make_case(1, "1", "0");
    made.problem.boundary = {value_on("all", "sin(pi*x)*sinh(pi*y)")};
    const mesh::Mesh mesh = mesh::refine(mesh::refine(mesh::make_box({shape, {8, 8, 1}, {1, 1, 1}, 0.1})));
    const auto errors = [&](const mesh::Mesh& of) {
      const solver::GroupQuantities top = measured(made, of).groups.at("top");
      return std::pair{std::abs(top.flux - 2 * std::cosh(M_PI)), std::abs(top.gradient_flux - 2 * std::cosh(M_PI))};
    };
    const auto coarse = errors(mesh), fine = errors(mesh::refine(mesh));
    const double rate = std::log2(coarse.first / fine.first), of_gradient = std::log2(coarse.second / fine.second);
    CHECK(rate > 1.7);
    CHECK(rate < 3);
    CHECK(of_gradient > 0.7);
    CHECK(of_gradient < 1.3);
    CHECK(fine.first < 0.01 * fine.second);
  }
}

TEST_CASE(
    "what is added where nothing holds the solution is a source, and a diffusion that is none on a side harmless") {
  solver::Case made = make_case(2, "1", "1");
  made.problem.boundary = {flux_on("left", "-0.2500001"), flux_on("right", "-0.75")};
  const mesh::Mesh mesh = mesh::make_box({CellShape::triangle, {4, 4, 1}, {1, 1, 1}, 0});
  const solver::Quantities quantities = measured(made, mesh);
  CHECK(std::abs(quantities.balance.relative_error()) < 1e-11);
  CHECK(quantities.balance.sources == doctest::Approx(1.0000001).epsilon(1e-12));
  CHECK(quantities.balance.out == doctest::Approx(1.0000001).epsilon(1e-12));

  made = make_case(2, "1/x", "1");
  made.problem.boundary = {value_on("left", "0"), value_on("right", "0")};
  const solver::Quantities singular = measured(made, mesh);
  CHECK(std::isnan(singular.groups.at("left").gradient_flux));
  CHECK(std::abs(singular.balance.relative_error()) < 1e-9);

  made = make_case(1, "1", "0");
  made.problem.boundary = {value_on("all", "0")};
  CHECK(measured(made, mesh).balance.relative_error() == 0);
}
