// Manufactured solutions: exact for polynomials of the space, convergence rates within bounds for others.

#include <doctest/doctest.h>

#include <cmath>

#include "mesh/box/box.hpp"
#include "mesh/dofs/ordering.hpp"
#include "tests/problems.hpp"

using namespace femcg;
using namespace femcg::tests;
using mesh::CellShape;

namespace {

constexpr double rate_margin = 0.2;

/// u = sin(2x + 0.5) cos(1.5 y - 0.3) (e^(z/2)), with sources derived by hand.
struct Manufactured {
  std::string exact, source;
  solver::DiffusionField diffusion;
};

const std::string plane = "sin(2*x+0.5)*cos(1.5*y-0.3)";
std::string along_z(int dimension) { return dimension == 3 ? "*exp(z/2)" : ""; }

/// kappa = 1 + x/2 + y/4.
Manufactured manufactured(int dimension) {
  const std::string z = along_z(dimension);
  // -div(kappa grad u) = kappa (4 + 2.25 - 0.25 [3D]) u - u_x / 2 - u_y / 4
  const std::string laplacian = dimension == 3 ? "6.0" : "6.25";
  return {plane + z,
          "(1+x/2+y/4)*" + laplacian + "*" + plane + z + " - cos(2*x+0.5)*cos(1.5*y-0.3)" + z +
              " + 0.375*sin(2*x+0.5)*sin(1.5*y-0.3)" + z,
          diffusion("1 + x/2 + y/4")};
}

/// kappa = (2 + x, 0.5; 0.5, 1 + y/2), in space with kappa_zz = 0.8, kappa_xz = -0.3 and kappa_yz = 0.2.
Manufactured anisotropic(int dimension) {
  const auto number = [](const char* text) { return solver::Expression(text, "test"); };
  solver::TensorExpression tensor{
      {{"xx", number("2 + x")}, {"yy", number("1 + y/2")}, {"xy", number("0.5")}}, {}, 3, "test", "diffusion"};
  if (dimension == 3) tensor.entries.insert({{"zz", number("0.8")}, {"xz", number("-0.3")}, {"yz", number("0.2")}});
  // -div(kappa grad u) = -(2 + x) u_xx - u_x - u_xy - u_y / 2 - (1 + y/2) u_yy, and in space
  // + 0.6 u_xz - 0.4 u_yz - 0.8 u_zz.
  const std::string z = along_z(dimension), ss = "sin(2*x+0.5)*sin(1.5*y-0.3)", cc = "cos(2*x+0.5)*cos(1.5*y-0.3)",
                    cs = "cos(2*x+0.5)*sin(1.5*y-0.3)";
  std::string source = "(4*(2+x) + 2.25*(1+y/2))*" + plane + " - 2*" + cc + " + 3*" + cs + " + 0.75*" + ss;
  if (dimension == 3) source += " + 0.6*" + cc + " + 0.3*" + ss + " - 0.2*" + plane;
  return {plane + z, "(" + source + ")" + (z.empty() ? "" : z), {solver::RegionDiffusion(tensor), {}, "test"}};
}

int coarse_cells(CellShape shape, int degree) {
  if (mesh::dimension(shape) == 2) return degree == 1 ? 8 : degree == 2 ? 6 : 3;
  return degree == 1 ? 4 : degree == 2 ? 2 : 1;
}

/// Integral of u over the unit square by its sine series: 64 / (pi^6 m^2 n^2 (m^2 + n^2)), summed over odd m, n.
double square_integral() {
  double sum = 0;
  for (int m = 1; m < 400; m += 2)
    for (int n = 1; n < 400; n += 2) sum += 1.0 / (double(m) * m * n * n * (double(m) * m + double(n) * n));
  return 64 / std::pow(M_PI, 6) * sum;
}

/// u = cos(x^2) exp(y/2) in a body of revolution about x = 0, with kappa = diag(2, 3).
Manufactured revolved() {
  const auto number = [](const char* text) { return solver::Expression(text, "test"); };
  // -div(kappa grad u) = -2 (x u_x)_x / x - 3 u_yy
  return {
      "cos(x^2)*exp(y/2)",
      "(8*sin(x^2) + 8*x^2*cos(x^2) - 0.75*cos(x^2))*exp(y/2)",
      {solver::RegionDiffusion({{{"xx", number("2")}, {"yy", number("3")}}, {}, 2, "test", "diffusion"}), {}, "test"}};
}

/// Checks the rates of the errors from one refinement of a distorted mesh to the next, with every operator.
void check_rates(CellShape shape, int degree, const Manufactured& solution, bool axisymmetric = false) {
  CAPTURE(mesh::name(shape));
  CAPTURE(degree);
  solver::Case made = make_case(degree, "1", solution.source);
  made.problem.diffusion = solution.diffusion;
  made.problem.exact = field(solution.exact);
  made.problem.boundary = {value_on("all", solution.exact)};
  const int n = coarse_cells(shape, degree);
  mesh::Mesh mesh = mesh::refine(mesh::make_box({shape, {n, n, n}, {1, 1, 1}, 0.15}));
  mesh.axisymmetric = axisymmetric;
  std::map<std::string, solver::Errors> coarse;
  for (const bool fine : {false, true}) {
    if (fine) mesh = mesh::refine(mesh);
    const mesh::FunctionSpace space(mesh, degree);
    const solver::Problem problem(made.problem, space);
    const Assembled assembled(problem);
    for (const operators::OperatorDescription& row : operators::catalogue()) {
      if (!row.host()) continue;
      const std::string name(row.name);
      CAPTURE(name);
      const std::vector<double> dofs = solve_with(name, assembled, problem, 1e-11);
      const solver::Errors errors = solver::measure_errors(*made.problem.exact, problem, dofs);
      if (fine) {
        const double l2 = std::log2(coarse[name].l2 / errors.l2), h1 = std::log2(coarse[name].h1 / errors.h1);
        CHECK(l2 > degree + 1 - rate_margin);
        CHECK(l2 < degree + 1 + rate_margin);
        CHECK(h1 > degree - rate_margin);
        CHECK(h1 < degree + rate_margin);
      } else {
        coarse[name] = errors;
      }
    }
  }
}

}  // namespace

TEST_CASE("L2 errors fall with h^(p+1) and H1 errors with h^p on distorted meshes, with every operator") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree) check_rates(shape, degree, manufactured(mesh::dimension(shape)));
}

TEST_CASE("and with a tensor for diffusion, whose six entries vary or are constant") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree) check_rates(shape, degree, anisotropic(mesh::dimension(shape)));
}

TEST_CASE("and in a body of revolution, the norms over its volume") {
  for (const CellShape shape : {CellShape::triangle, CellShape::quadrilateral})
    for (int degree = 1; degree <= 4; ++degree) check_rates(shape, degree, revolved(), true);
}

TEST_CASE("polynomials of degree p are reproduced to rounding on distorted meshes, with every operator") {
  // Polynomials with terms of every degree in every direction; the sources -div(kappa grad u) are derived by hand.
  const std::vector<std::string> exact{"1+2*x-3*y+z", "1+x^2-2*x*y+y^2+3*z^2-x*z", "x^3-2*x*y^2+y^3+z^3+x*y*z",
                                       "x^4-x^2*y^2+2*y^4+z^4-x*y*z^2"};
  const std::vector<std::string> laplacian_2d{"0", "4", "6*x-4*x+6*y", "12*x^2-2*y^2-2*x^2+24*y^2"};
  const std::vector<std::string> laplacian_3d{"0", "10", "6*x-4*x+6*y+6*z", "12*x^2-2*y^2-2*x^2+24*y^2+12*z^2-2*x*y"};
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree) {
      CAPTURE(mesh::name(shape));
      CAPTURE(degree);
      const bool flat = mesh::dimension(shape) == 2;
      solver::Case made = make_case(degree, "2", "-2*(" + (flat ? laplacian_2d : laplacian_3d)[degree - 1] + ")");
      made.problem.exact = field(exact[degree - 1]);
      made.problem.boundary = {value_on("all", exact[degree - 1])};
      const mesh::Mesh mesh = mesh::make_box({shape, {4, 3, 2}, {1, 1, 1}, flat ? 0.25 : 0.2});
      const mesh::FunctionSpace space(mesh, degree);
      const solver::Problem problem(made.problem, space);
      const Assembled assembled(problem);
      for (const operators::OperatorDescription& row : operators::catalogue()) {
        if (!row.host()) continue;
        const std::string name(row.name);
        CAPTURE(name);
        const solver::Errors errors =
            solver::measure_errors(*made.problem.exact, problem, solve_with(name, assembled, problem, 1e-14));
        CHECK(errors.l2 < 1e-11);
        CHECK(errors.h1 < 1e-10);
      }
    }
}

TEST_CASE("the unit square and the unit cube with f = 1 have their known values") {
  solver::Case made = make_case(4, "1", "1");
  made.problem.boundary = {value_on("all", "0")};
  made.output.probes = {{"centre", {0.5, 0.5, 0.5}}};
  for (const CellShape shape : mesh::all_cell_shapes) {
    CAPTURE(mesh::name(shape));
    const bool flat = mesh::dimension(shape) == 2;
    const int n = flat ? 24 : 4;
    const mesh::Mesh mesh = mesh::make_box({shape, {n, n, n}});
    const Solved solved = solve(made, mesh);
    const solver::Quantities quantities = solver::measure(*solved.problem, solved.problem->loads().front(),
                                                          solver::locate_probes(made.output.probes, mesh), solved.dofs);
    if (flat) {
      CHECK(std::abs(quantities.maximum - 0.0736713533) < 1e-9);
      CHECK(std::abs(quantities.integral - square_integral()) < 1e-8);
    } else {
      CHECK(std::abs(quantities.probes[0].second - 0.05621) < 5e-6);
    }
    double outflow = 0;
    for (const auto& [group, flux] : quantities.flux)
      if (group != "all") outflow += flux;
    CHECK(outflow == doctest::Approx(-1).epsilon(1e-9));
    CHECK(quantities.flux.at("all") == doctest::Approx(outflow).epsilon(1e-12));
  }
}
