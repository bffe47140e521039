#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "mesh/box/box.hpp"
#include "solver/messages/error.hpp"
#include "tests/problems.hpp"

using namespace femcg;
using namespace femcg::tests;
using mesh::CellShape;

namespace {

/// Two unit squares side by side without shared nodes, in regions "west" and "east".
mesh::Mesh two_parts() {
  mesh::Mesh mesh = mesh::make_box({CellShape::quadrilateral, {4, 4, 1}});
  mesh.region_names = {"west", "east"};
  const mesh::Mesh one = mesh;
  for (std::int32_t node = 0; node < one.node_count(); ++node) {
    mesh.coordinates.push_back(one.point(node)[0] + 2);
    mesh.coordinates.push_back(one.point(node)[1]);
  }
  for (const std::int32_t node : one.cell_nodes) mesh.cell_nodes.push_back(node + one.node_count());
  mesh.cell_regions.resize(2 * one.cell_count(), 1);
  mesh.boundaries = {{"west_left", one.boundaries[0].facets},
                     {"west_right", one.boundaries[1].facets},
                     {"east_right", one.boundaries[1].facets}};
  for (mesh::BoundaryFacet& facet : mesh.boundaries[2].facets) facet.cell += one.cell_count();
  return mesh;
}

std::string error_of(const solver::Case& made, const mesh::Mesh& mesh) {
  const mesh::FunctionSpace space(mesh, made.degree);
  try {
    const solver::Problem problem(made.problem, space);
  } catch (const solver::InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a wall between a given temperature and a fluid: the textbook's series resistance") {
  // u = 100 at x = 0, kappa = 2, thickness 1, h = 3, ambient 20: flux = 80 / (1/2 + 1/3) = 96, u(1) = 52. Linear, hence
  // exact.
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree) {
      CAPTURE(mesh::name(shape));
      CAPTURE(degree);
      solver::Case made = make_case(degree, "2", "0");
      made.problem.boundary = {value_on("left", "100"), transfer_on("right", "3", "20")};
      made.output.probes = {{"middle", {0.5, 0.3, 0.2}}};
      const mesh::Mesh mesh = mesh::make_box({shape, {3, 2, 2}, {1, 1, 1}, 0.2});
      for (const char* name : {"csr", "lma-coloured", "matrix-free"}) {
        const Solved solved = solve(made, mesh, name);
        const solver::Quantities quantities =
            solver::measure(*solved.problem, solved.problem->loads().front(),
                            solver::locate_probes(made.output.probes, mesh), solved.dofs);
        CHECK(quantities.minimum == doctest::Approx(52).epsilon(1e-10));
        CHECK(quantities.maximum == doctest::Approx(100).epsilon(1e-10));
        CHECK(quantities.integral == doctest::Approx(76).epsilon(1e-10));
        CHECK(quantities.probes[0].second == doctest::Approx(76).epsilon(1e-10));
        CHECK(quantities.flux.at("left") == doctest::Approx(96).epsilon(1e-10));
        CHECK(quantities.flux.at("right") == doctest::Approx(-96).epsilon(1e-10));
        CHECK(quantities.flux.at("top") == 0);
      }
    }
}

TEST_CASE("a quarter with symmetry: 4 has the sums of the whole, and the values") {
  const auto measured = [](double side, const std::vector<std::string>& cooled, int symmetry) {
    solver::Case made = make_case(2, "2 + x*y*(1 - x)*(1 - y)", "3");
    for (const std::string& group : cooled) made.problem.boundary.push_back(transfer_on(group, "5", "20"));
    made.problem.symmetry = symmetry;
    const int cells = static_cast<int>(std::lround(8 * side));
    const mesh::Mesh mesh = mesh::make_box({CellShape::quadrilateral, {cells, cells, 1}, {side, side, 1}});
    const Solved solved = solve(made, mesh, "csr");
    return solver::measure(*solved.problem, solved.problem->loads().front(), {}, solved.dofs);
  };
  const solver::Quantities whole = measured(1, {"left", "right", "bottom", "top"}, 1),
                           quarter = measured(0.5, {"left", "bottom"}, 4);
  const auto same = [](double a, double b) { CHECK(a == doctest::Approx(b).epsilon(1e-8)); };
  same(quarter.minimum, whole.minimum);
  same(quarter.maximum, whole.maximum);
  same(quarter.integral, whole.integral);
  same(quarter.regions.at("box").volume, 1);
  same(quarter.regions.at("box").mean, whole.regions.at("box").mean);
  same(quarter.flux.at("left"), whole.flux.at("left") + whole.flux.at("right"));
  same(quarter.groups.at("bottom").area, 2);
  same(quarter.groups.at("bottom").mean, whole.groups.at("bottom").mean);
  same(quarter.groups.at("left").gradient_flux, 2 * whole.groups.at("left").gradient_flux);
  same(quarter.balance.sources, 3);
  same(quarter.balance.out, whole.balance.out);
  CHECK(std::abs(quarter.balance.relative_error()) < 1e-8);
}

TEST_CASE("the source at a point: Green's function of the square, at rate 2 p where both points are vertices") {
  // By lines across, sum over odd n of 2 sinh(n pi / 2) sinh(n pi / 4) / (n pi sinh(n pi)).
  constexpr double exact = 0.12163980885096216;
  for (const CellShape shape : {CellShape::quadrilateral, CellShape::triangle})
    for (const int degree : {1, 2}) {
      CAPTURE(mesh::name(shape));
      CAPTURE(degree);
      std::vector<double> errors;
      for (const int cells : {16, 64}) {
        solver::Case made = make_case(degree, "0.5", "0");
        made.problem.boundary = {value_on("all", "0")};
        made.problem.points = {{{"middle", {0.5, 0.5, 0}, "test"}, 0.5}};
        made.output.probes = {{"beside", {0.75, 0.5, 0}}};
        const mesh::Mesh mesh = mesh::make_box({shape, {cells, cells, 1}, {1, 1, 1}});
        const Solved solved = solve(made, mesh, "csr", 1e-12);
        const solver::Quantities quantities =
            solver::measure(*solved.problem, solved.problem->loads().front(),
                            solver::locate_probes(made.output.probes, mesh), solved.dofs);
        CHECK(quantities.balance.sources == doctest::Approx(0.5).epsilon(1e-14));
        CHECK(std::abs(quantities.balance.relative_error()) < 1e-8);
        errors.push_back(std::abs(quantities.probes[0].second - exact));
      }
      const double rate = std::log2(errors[0] / errors[1]) / 2;
      CHECK(rate > 2 * degree - 0.3);
      CHECK(rate < 2 * degree + 0.7);
    }
}

TEST_CASE("what a source at one point does at another, one at the other does at the first") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree) {
      CAPTURE(mesh::name(shape));
      CAPTURE(degree);
      const bool is_plane = mesh::dimension(shape) == 2;
      const mesh::Mesh mesh = mesh::make_box({shape, {4, 3, is_plane ? 1 : 3}, {1, 1, 1}, 0.2});
      const std::array<std::array<double, 3>, 2> points{
          {{0.31, 0.27, is_plane ? 0 : 0.6}, {0.72, 0.55, is_plane ? 0 : 0.35}}};
      const auto at_other = [&](int source, const char* name) {
        solver::Case made = make_case(degree, "1 + x", "0");
        made.problem.boundary = {value_on("left", "0"), transfer_on("top", "2", "0")};
        made.problem.points = {{{"source", points[source], "test"}, 3}};
        made.output.probes = {{"other", points[1 - source]}};
        const Solved solved = solve(made, mesh, name);
        return solver::measure(*solved.problem, solved.problem->loads().front(),
                               solver::locate_probes(made.output.probes, mesh), solved.dofs)
            .probes[0]
            .second;
      };
      for (const char* name : {"csr", "lma-coloured", "matrix-free"})
        CHECK(at_other(0, name) == doctest::Approx(at_other(1, name)).epsilon(1e-9));
    }
}

TEST_CASE("regions carry their own diffusion, source and exact solution") {
  mesh::Mesh mesh = mesh::make_box({CellShape::quadrilateral, {4, 2, 1}, {2, 1, 1}});
  mesh.region_names = {"soft", "hard"};
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) mesh.cell_regions[cell] = cell % 4 < 2 ? 0 : 1;
  solver::Case made = make_case(1, "1", "0");
  made.problem.diffusion = {{}, {{"soft", solver::Expression(1.0)}, {"hard", solver::Expression(3.0)}}, "test"};
  made.problem.boundary = {value_on("left", "0"), value_on("right", "8")};
  // Equal fluxes at x = 1: slopes 6 and 2.
  made.problem.exact =
      solver::Field{{}, {{"soft", solver::Expression("6*x", "")}, {"hard", solver::Expression("4+2*x", "")}}, "test"};
  const Solved solved = solve(made, mesh);
  CHECK(solver::measure_errors(*made.problem.exact, *solved.problem, solved.dofs).l2 < 1e-11);
  made.problem.diffusion.by_region.erase("hard");
  CHECK(error_of(made, mesh).find("diffusion has no value for region 'hard'") != std::string::npos);
  made.problem.diffusion.by_region.emplace("harder", solver::Expression(1.0));
  CHECK(error_of(made, mesh).find("no region 'harder'") != std::string::npos);
  CHECK(error_of(made, mesh).find("did you mean 'hard'") != std::string::npos);
}

TEST_CASE("pure Neumann problems: the mean is fixed on every part, the load must balance on every part") {
  const mesh::Mesh mesh = two_parts();
  solver::Case made = make_case(2, "1", "0");
  // West: u = x - 1/2 from fluxes -1 and 1. East: u'' = -2 with flux -2 on the right: u = -(x-2)^2 + c.
  made.problem.source = {{}, {{"west", solver::Expression(0.0)}, {"east", solver::Expression(2.0)}}, "test"};
  made.problem.boundary = {flux_on("west_left", "-1"), flux_on("west_right", "1"), flux_on("east_right", "-2")};
  SUBCASE("zero mean without an exact solution") {
    const Solved solved = solve(made, mesh);
    CHECK(solved.problem->singular());
    CHECK(solved.cg.reason == solver::StopReason::converged);
    made.problem.exact = solver::Field{
        {}, {{"west", solver::Expression("x-0.5", "")}, {"east", solver::Expression("1/3-(x-2)^2", "")}}, "test"};
    CHECK(solver::measure_errors(*made.problem.exact, *solved.problem, solved.dofs).l2 < 1e-10);
  }
  SUBCASE("the mean of the exact solution where there is one") {
    made.problem.exact = solver::Field{
        {}, {{"west", solver::Expression("x+7", "")}, {"east", solver::Expression("5-(x-2)^2", "")}}, "test"};
    const Solved solved = solve(made, mesh);
    CHECK(solver::measure_errors(*made.problem.exact, *solved.problem, solved.dofs).l2 < 1e-10);
  }
  SUBCASE("one part held, the other not") {
    made.problem.boundary[0] = value_on("west_left", "3");
    const Solved solved = solve(made, mesh);
    made.problem.exact = solver::Field{
        {}, {{"west", solver::Expression("x+3", "")}, {"east", solver::Expression("1/3-(x-2)^2", "")}}, "test"};
    CHECK(solver::measure_errors(*made.problem.exact, *solved.problem, solved.dofs).l2 < 1e-10);
  }
  SUBCASE("a load out of balance is refused, with what is missing") {
    made.problem.boundary[1] = flux_on("west_right", "1.5");
    CHECK(error_of(made, mesh).find("does not balance") != std::string::npos);
    CHECK(error_of(made, mesh).find("add up to 0.5") != std::string::npos);
    made.problem.boundary[0].place = "test.yaml:7:3";
    CHECK(error_of(made, mesh).starts_with("test.yaml:7:3: no boundary value"));
    CHECK(error_of(made, mesh).find("on the 16 connected cells around (0.125, 0.125) (region 'west'), and") !=
          std::string::npos);
    made.problem.boundary[2] = flux_on("east_right", "7");
    const std::string both = error_of(made, mesh);
    CHECK(std::ranges::count(both, '\n') == 1);
    CHECK(both.find("around (2.125, 0.125) (region 'east'), and") != std::string::npos);
    made.problem.boundary.clear();
    made.problem.source.place = "test.yaml:5:11";
    CHECK(error_of(made, mesh).starts_with("test.yaml:5:11: no boundary value"));
  }
}

TEST_CASE("wrong conditions are told with their place and the nearest name") {
  const mesh::Mesh mesh = mesh::make_box({CellShape::triangle, {2, 2, 1}});
  solver::Case made = make_case(1, "1", "1");
  made.problem.boundary = {value_on("lefd", "0")};
  CHECK(error_of(made, mesh) ==
        "test: the mesh has no boundary group 'lefd'; did you mean 'left'? There are all, left, right, bottom or top; "
        "femcg mesh shows them");
  mesh::Mesh numbered = mesh;  // groups of a .msh file without names are named by their numbers
  numbered.boundaries = {{"7", mesh.boundaries[0].facets}, {"12", mesh.boundaries[1].facets}};
  CHECK(error_of(made, numbered) ==
        "test: the mesh has no boundary group 'lefd'; known are all, 7 or 12; femcg mesh shows them");
  made.problem.boundary = {value_on("left", "1/x")};
  CHECK(error_of(made, mesh).find("not finite") != std::string::npos);
  made.problem.boundary = {value_on("left", "0"), transfer_on("right", "y-0.5", "0")};
  CHECK(error_of(made, mesh).find("transfer must be at least 0") != std::string::npos);
  made.problem.boundary = {value_on("left", "0")};
  made.problem.diffusion = diffusion("x-0.5");
  CHECK(error_of(made, mesh).find("diffusion must be above 0, but 'x-0.5' is -0.3") != std::string::npos);
  CHECK(error_of(made, mesh).ends_with(")"));
  CHECK(std::ranges::count(error_of(made, mesh), ',') == 2);  // message "..., but ... at the point (x, y)": no z
  made.problem.diffusion = diffusion("-1");
  CHECK(error_of(made, mesh).find("diffusion must be above 0, not -1") != std::string::npos);
  made = make_case(1, "1", "1");
  made.problem.boundary = {value_on("left", "0")};
  made.output.probes = {{"far", {7, 7, 0}, "test:3:4"}, {"middle", {0.5, 0.5, 0}, "test:3:9"}};
  CHECK_THROWS_WITH(solver::locate_probes(made.output.probes, mesh),
                    "test:3:4: probe 'far' at (7, 7) lies outside the mesh, which is in [0, 1] x [0, 1]");
}

TEST_CASE("nodes at which boundary values disagree are counted once, however many facets meet there") {
  // A vertical edge of 4 x 4 x 4 cells has 5 nodes; its interior nodes are on two facets of each side. With three
  // sides, the corner is shared again.
  const mesh::Mesh mesh = mesh::make_box({CellShape::hexahedron, {4, 4, 4}});
  solver::Case made = make_case(1, "1", "0");
  const auto warning = [&] {
    const mesh::FunctionSpace space(mesh, 1);
    const solver::Problem problem(made.problem, space);
    REQUIRE(problem.warnings().size() == 1);
    return problem.warnings()[0];
  };
  for (const bool swapped : {false, true}) {
    made.problem.boundary = {value_on(swapped ? "bottom" : "left", "0"), value_on(swapped ? "left" : "bottom", "1")};
    CHECK(warning().find("disagree at 5 shared nodes;") != std::string::npos);
    made.problem.boundary.push_back(value_on("back", "2"));
    CHECK(warning().find("disagree at 13 shared nodes;") != std::string::npos);
  }
}

TEST_CASE("'all' is every facet that no other entry names, and reverse Cuthill-McKee changes no answer") {
  const mesh::Mesh mesh = mesh::make_box({CellShape::quadrilateral, {6, 5, 1}, {1, 1, 1}, 0.2});
  solver::Case made = make_case(3, "1+x", "x*y");
  made.problem.boundary = {value_on("all", "0"), flux_on("top", "1")};
  const Solved natural = solve(made, mesh);
  made.problem.boundary = {flux_on("top", "1"), value_on("left", "0"), value_on("right", "0"), value_on("bottom", "0")};
  made.problem.unknown_order = solver::UnknownOrder::reverse_cuthill_mckee;
  const Solved reordered = solve(made, mesh);
  double worst = 0;
  for (std::size_t i = 0; i < natural.dofs.size(); ++i)
    worst = std::max(worst, std::abs(natural.dofs[i] - reordered.dofs[i]));
  CHECK(worst < 1e-11);
}

TEST_CASE("a source between the points of the quadrature is noted, and no other") {
  const auto warnings = [](const std::string& source, CellShape shape, int cells) {
    const mesh::Mesh mesh = mesh::make_box({shape, {cells, cells, cells}});
    solver::Case made = make_case(1, "1", source);
    made.problem.boundary.push_back(value_on("left", "0"));
    const mesh::FunctionSpace space(mesh, made.degree);
    return solver::Problem(made.problem, space).warnings();
  };
  const std::string narrow = "100*exp(-((x-0.53)^2 + (y-0.53)^2)/0.001^2)";
  for (const CellShape shape : {CellShape::quadrilateral, CellShape::triangle}) {
    const auto noted = warnings(narrow, shape, 16);
    REQUIRE(noted.size() == 1);
    CHECK(noted[0].starts_with("equation.source varies within cells: its size, integrated, is "));
    for (const char* plain : {"1", "x", "sin(pi*x)*sin(pi*y)", "100*exp(-((x-0.53)^2 + (y-0.53)^2)/0.1^2)", "x > 0.5"})
      CHECK_MESSAGE(warnings(plain, shape, 16).empty(), plain);
  }
  for (const CellShape shape : {CellShape::hexahedron, CellShape::tetrahedron}) {
    CHECK(warnings("100*exp(-((x-0.53)^2 + (y-0.53)^2 + (z-0.53)^2)/0.002^2)", shape, 8).size() == 1);
    CHECK(warnings("x*y*z", shape, 8).empty());
  }
  CHECK(warnings("sqrt(x - 0.01)", CellShape::quadrilateral, 2).empty());  // no value at points of the finer rule
}
