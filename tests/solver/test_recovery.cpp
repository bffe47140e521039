// Gradients and fluxes of a solution: convergence rates, cellwise and recovered, and jumps at interfaces.
#include <doctest/doctest.h>
#include <Eigen/Dense>

#include <array>
#include <cmath>
#include <map>

#include "mesh/box/box.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "mesh/dofs/ordering.hpp"
#include "mesh/element/quadrature.hpp"
#include "solver/fields/cell_fields.hpp"
#include "solver/fields/solution_file.hpp"
#include "tests/problems.hpp"

using namespace femcg;
using namespace femcg::tests;
using mesh::CellShape;

namespace {

/// L2 errors of grad u: cellwise, evaluated at the nodes of each cell, and recovered.
struct GradientErrors {
  double cellwise = 0, recovered = 0;
};

/// |v - g|^2 in L2 on all cells, where v interpolates the values of `field` at the nodes of each cell.
double square_of_error(const mesh::FunctionSpace& space, const std::function<mesh::NodeValues()>& field,
                       const std::array<solver::Expression, 3>& exact) {
  const CellShape shape = space.mesh().shape;
  const mesh::Quadrature rule = mesh::cell_quadrature(shape, space.degree() + 4);
  const mesh::LagrangeBasis lattice(shape, space.degree(), mesh::NodeFamily::equispaced);
  const Eigen::MatrixXd from_nodes =
      lattice.values(rule.points) * lattice.values(mesh::vtk_lagrange_points(shape, space.degree())).inverse();
  const mesh::GeometryTables tables(space.mesh(), rule.points);
  mesh::CellGeometry geometry(tables);
  const mesh::NodeValues evaluate = field();
  Eigen::Matrix<double, Eigen::Dynamic, 3, Eigen::RowMajor> at_nodes(lattice.size(), 3);
  std::vector<double> right(rule.size());
  double sum = 0;
  for (std::int32_t cell = 0; cell < space.mesh().cell_count(); ++cell) {
    geometry.move_to(space.mesh(), cell);
    evaluate(cell, {at_nodes.data(), static_cast<std::size_t>(at_nodes.size())});
    const Eigen::MatrixXd values = from_nodes * at_nodes;
    for (int i = 0; i < space.mesh().dimension(); ++i) {
      exact[i].evaluate(geometry.all_points(), right);
      for (int q = 0; q < rule.size(); ++q)
        sum += rule.weights[q] * geometry.determinant(q) * std::pow(values(q, i) - right[q], 2);
    }
  }
  return sum;
}

/// Components of the recovered gradient.
std::vector<std::vector<double>> recovered_gradient(solver::Recovery& recovery, const operators::BilinearForm& form,
                                                    std::span<const double> dofs) {
  const solver::GradientTables tables(*form.space,
                                      mesh::cell_quadrature(form.space->mesh().shape, form.quadrature).points);
  std::vector<solver::Recovery::Values> components;
  for (int i = 0; i < form.space->mesh().dimension(); ++i)
    components.emplace_back([&, i](std::int32_t cell, std::span<double> values) {
      solver::CellGradient gradient(tables);
      std::vector<double> all(3 * values.size());
      gradient.move_to(cell);
      gradient.evaluate(dofs, all);
      for (std::size_t q = 0; q < values.size(); ++q) values[q] = all[3 * q + i];
    });
  return recovery.project(components);
}

GradientErrors errors_of(const solver::Case& made, const mesh::Mesh& mesh,
                         const std::array<solver::Expression, 3>& exact) {
  const Solved solved = solve(made, mesh);
  const mesh::FunctionSpace& space = *solved.space;
  const solver::CellFields fields(space, solver::FileCells(space.degree()));
  solver::Recovery recovery(solved.problem->form());
  const auto components = recovered_gradient(recovery, solved.problem->form(), solved.dofs);
  return {std::sqrt(square_of_error(space, fields.gradient(solved.dofs), exact)),
          std::sqrt(square_of_error(space, fields.function(recovery.space(), {components.begin(), components.end()}),
                                    exact))};
}

/// Jumps of the x components of grad u and kappa grad u across x = 1/2: root mean square over the nodes there.
struct Jumps {
  double gradient = 0, flux = 0;
};

Jumps jumps_at_interface(const mesh::FunctionSpace& space, std::span<const double> dofs,
                         const std::vector<double>& diffusion) {
  const solver::CellFields fields(space, solver::FileCells(space.degree()));
  const mesh::SeparateCells cells = fields.cells();
  const mesh::NodeValues points = cells.points(), gradient = fields.gradient(dofs)();
  std::vector<double> at(3 * cells.nodes), values(3 * cells.nodes);
  std::map<std::array<long, 2>, std::array<double, 2>> slopes;  // [left, right] by (y, z)
  for (std::int32_t cell = 0; cell < cells.count; ++cell) {
    points(cell, at);
    gradient(cell, values);
    for (int a = 0; a < cells.nodes; ++a)
      if (std::abs(at[3 * a] - 0.5) < 1e-12)
        slopes[{std::lround(1e6 * at[3 * a + 1]), std::lround(1e6 * at[3 * a + 2])}][space.mesh().cell_regions[cell]] =
            values[3 * a];
  }
  REQUIRE_FALSE(slopes.empty());
  Jumps sums;
  for (const auto& [place, sides] : slopes) {
    sums.gradient += std::pow(sides[1] - sides[0], 2);
    sums.flux += std::pow(diffusion[1] * sides[1] - diffusion[0] * sides[0], 2);
  }
  const auto count = static_cast<double>(slopes.size());
  return {std::sqrt(sums.gradient / count), std::sqrt(sums.flux / count)};
}

/// A distorted box of two regions with the interface x = 1/2, which stays plane; the left region is "left".
mesh::Mesh two_materials(CellShape shape, int n) {
  mesh::Mesh mesh = mesh::make_box({shape, {n, n, n}, {1, 1, 1}, 0.1});
  const mesh::Mesh regular = mesh::make_box({shape, {n, n, n}, {1, 1, 1}, 0});
  for (std::int32_t node = 0; node < mesh.node_count(); ++node)
    if (regular.point(node)[0] == 0.5)
      std::copy_n(regular.point(node).begin(), mesh.dimension(), mesh.coordinates.begin() + node * mesh.dimension());
  mesh.region_names = {"left", "right"};
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell)
    mesh.cell_regions[cell] = mesh::cell_centre(regular, cell)[0] < 0.5 ? 0 : 1;
  return mesh;
}

}  // namespace

TEST_CASE("L2 errors of the gradient fall with h^p as cells have it, and recovered they are smaller") {
  const std::array<solver::Expression, 3> slopes{solver::Expression("2*cos(2*x+0.5)*cos(1.5*y-0.3)", "test"),
                                                 solver::Expression("-1.5*sin(2*x+0.5)*sin(1.5*y-0.3)", "test"),
                                                 solver::Expression(0.0)};
  const std::string exact = "sin(2*x+0.5)*cos(1.5*y-0.3)";
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 3; ++degree) {
      CAPTURE(mesh::name(shape));
      CAPTURE(degree);
      solver::Case made = make_case(degree, "1", "6.25*" + exact);
      made.problem.boundary = {value_on("all", exact)};
      const int n = mesh::dimension(shape) == 3 ? 3 : 6;
      mesh::Mesh mesh = mesh::make_box({shape, {n, n, n}, {1, 1, 1}, 0.15});
      const GradientErrors coarse = errors_of(made, mesh, slopes);
      const GradientErrors fine = errors_of(made, mesh::refine(mesh), slopes);
      const double rate = std::log2(coarse.cellwise / fine.cellwise);
      const double recovered_rate = std::log2(coarse.recovered / fine.recovered);
      CHECK(rate > degree - 0.2);
      CHECK(rate < degree + 0.2);
      // Projection raises the rate by about 1/2 to 1 for odd degrees, and not for even ones.
      const bool odd = degree % 2 == 1;
      CHECK(recovered_rate > (degree == 1 ? 1.5 : degree - 0.25));
      CHECK(recovered_rate < degree + (degree == 1 ? 1 : odd ? 0.5 : 0.1));
      const double ratio = fine.recovered / fine.cellwise;
      CHECK(ratio > (degree == 1 ? 0.1 : 0.4));
      CHECK(ratio < (degree == 1 ? 0.4 : odd ? 0.7 : 0.99));
    }
}

TEST_CASE("where materials meet the gradient jumps, and the normal flux only by the discretisation error") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 3; ++degree) {
      CAPTURE(mesh::name(shape));
      CAPTURE(degree);
      solver::Case made = make_case(degree, "1", "0");
      made.problem.diffusion = {{}, {{"left", solver::Expression(1.0)}, {"right", solver::Expression(10.0)}}, "test"};
      // u is continuous, with a continuous flux in x; the source is derived by hand.
      const std::string exact = "(x < 0.5 ? 20 : 2)*(x-0.5)*(x+0.5)*cos(2*y)";
      made.problem.source = field("(80*(x-0.5)*(x+0.5) - 40)*cos(2*y)");
      made.problem.boundary = {value_on("all", exact)};
      const int n = shape == CellShape::tetrahedron ? 2 : 4;
      std::vector<Jumps> jumps;
      mesh::Mesh mesh = two_materials(shape, n);
      for (const bool fine : {false, true}) {
        if (fine) mesh = mesh::refine(mesh);
        const Solved solved = solve(made, mesh);
        jumps.push_back(jumps_at_interface(*solved.space, solved.dofs, {1, 10}));
      }
      CHECK(jumps[1].gradient > 8);
      const double rate = std::log2(jumps[0].flux / jumps[1].flux);
      CHECK(rate > degree - 0.3);
      CHECK(rate < degree + 0.6);
    }
}

TEST_CASE("recovered fields jump between regions, and are exact where each region's are polynomials") {
  for (const CellShape shape : mesh::all_cell_shapes) {
    CAPTURE(mesh::name(shape));
    solver::Case made = make_case(2, "1", "0");
    made.problem.diffusion = {{}, {{"left", solver::Expression(1.0)}, {"right", solver::Expression(10.0)}}, "test"};
    made.problem.boundary = {value_on("left", "0"), value_on("right", "1.1")};  // u = 2x, then 1 + (x - 1/2) / 5
    const mesh::Mesh mesh = two_materials(shape, 4);
    const Solved solved = solve(made, mesh);
    solver::Recovery recovery(solved.problem->form());
    CHECK(recovery.space().dof_count() > solved.space->dof_count());
    const auto components = recovered_gradient(recovery, solved.problem->form(), solved.dofs);
    double most = 0;
    for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell)
      for (const std::int32_t dof : recovery.space().dofs(cell))
        for (std::size_t i = 0; i < components.size(); ++i)
          most = std::max(most, std::abs(components[i][dof] - (i > 0                          ? 0.0
                                                               : mesh.cell_regions[cell] == 0 ? 2.0
                                                                                              : 0.2)));
    CHECK(most < 1e-9);
    // With one region, the space is not split.
    made.problem.diffusion = diffusion("1");
    const mesh::Mesh whole = mesh::make_box({shape, {2, 2, 2}, {1, 1, 1}, 0});
    const Solved plain = solve(made, whole);
    CHECK(&solver::Recovery(plain.problem->form()).space() == plain.space.get());
  }
}
