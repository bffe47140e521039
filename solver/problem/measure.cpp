#include "solver/problem/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "mesh/first_failure.hpp"
#include "mesh/geometry.hpp"
#include "solver/coefficients/field.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/problem/boundary_flux.hpp"

namespace femcg::solver {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// One group, whose facets are found among all of the boundary.
GroupQuantities measure_group(const mesh::BoundaryGroup& group, const Problem& problem, const BoundaryFlux& flux,
                              std::span<const double> dofs) {
  const mesh::FunctionSpace& space = *problem.form().space;
  const auto& boundary = problem.boundary();
  GroupQuantities sum;
  sum.minimum = std::numeric_limits<double>::infinity();
  sum.maximum = -sum.minimum;
  for (const mesh::BoundaryFacet wanted : group.facets) {
    const auto entry = std::lower_bound(boundary.begin(), boundary.end(), wanted,
                                        [](const ConditionedFacet& a, mesh::BoundaryFacet b) {
                                          return std::pair{a.facet.cell, a.facet.facet} < std::pair{b.cell, b.facet};
                                        });
    const std::size_t facet = entry - boundary.begin();
    sum.area += flux.area(facet);
    sum.mean += flux.integral(facet);
    sum.flux += flux.inflow(facet);
    sum.gradient_flux += flux.of_gradient(facet);
    for (const int a : space.facet_nodes(wanted.facet)) {
      const double u = dofs[space.dofs(wanted.cell)[a]];
      sum.minimum = std::min(sum.minimum, u);
      sum.maximum = std::max(sum.maximum, u);
    }
  }
  sum.mean /= sum.area;
  if (group.facets.empty()) sum.mean = sum.minimum = sum.maximum = none;
  return sum;
}

void measure_boundary(const Problem& problem, const Load& load, std::span<const double> dofs, Quantities& to) {
  const BoundaryFlux flux(problem, load, dofs);
  for (const mesh::BoundaryGroup& group : problem.form().space->mesh().boundaries) {
    const GroupQuantities measured = measure_group(group, problem, flux, dofs);
    to.groups[group.name] = measured;
    to.flux[group.name] = measured.flux;
  }
  for (std::size_t facet = 0; facet < problem.boundary().size(); ++facet) {
    const double inflow = flux.inflow(facet);
    (inflow > 0 ? to.balance.in : to.balance.out) += std::abs(inflow);
  }
}

/// Integrals over one cell.
struct CellIntegrals {
  double volume = 0, u = 0, sources = 0, sinks = 0;
};

Eigen::VectorXd cell_values(const mesh::FunctionSpace& space, std::int32_t cell, std::span<const double> dofs) {
  Eigen::VectorXd values(space.dofs_per_cell());
  for (int a = 0; a < space.dofs_per_cell(); ++a) values[a] = dofs[space.dofs(cell)[a]];
  return values;
}

/// Regions, the integral, and what the source brings.
void measure_cells(const Problem& problem, const Load& load, std::span<const double> dofs, Quantities& to) {
  const mesh::FunctionSpace& space = *problem.form().space;
  const mesh::Mesh& mesh = space.mesh();
  const FieldOnRegions source(load.source(), "equation.source", mesh, 0.0);
  std::vector<CellIntegrals> parts(mesh.cell_count());
  operators::for_each_cell(problem.form(), [&](operators::CellEvaluator& evaluator, std::int32_t cell) {
    const Eigen::Map<const Eigen::ArrayXd> measures(evaluator.measures().data(), evaluator.points());
    CellIntegrals& part = parts[cell];
    part.volume = measures.sum();
    part.u = ((evaluator.values() * cell_values(space, cell, dofs)).array() * measures).sum();
    if (source.of_cell(cell).constant() == 0.0) return;
    Eigen::ArrayXd values(evaluator.points());
    source.of_cell(cell).evaluate(evaluator.points_in_space(),
                                  {values.data(), static_cast<std::size_t>(values.size())});
    part.sources = (values.max(0.0) * measures).sum();
    part.sinks = (-values.min(0.0) * measures).sum();
  });
  std::vector<RegionQuantities> regions(mesh.region_names.size());
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    RegionQuantities& region = regions[mesh.cell_regions[cell]];
    region.volume += parts[cell].volume;
    region.mean += parts[cell].u;
    to.integral += parts[cell].u;
    to.balance.sources += parts[cell].sources;
    to.balance.sinks += parts[cell].sinks;
  }
  (load.added_source() > 0 ? to.balance.sources : to.balance.sinks) += std::abs(load.added_source());
  for (std::size_t r = 0; r < regions.size(); ++r)
    to.regions[mesh.region_names[r]] = {regions[r].volume,
                                        regions[r].volume > 0 ? regions[r].mean / regions[r].volume : none};
}

/// Tables on the finer quadrature of the errors, shared by all cells.
struct ErrorTables {
  ErrorTables(const mesh::FunctionSpace& space, int quadrature)
      : rule(mesh::cell_quadrature(space.mesh().shape, std::min(quadrature, 16))),
        finer(space.mesh().shape, space.degree() + 3, mesh::NodeFamily::gauss_lobatto),
        values(space.basis().values(rule.points)),
        gradients(space.basis().gradients(rule.points)),
        finer_gradients(finer.gradients(rule.points)),
        at_points(space.mesh(), rule.points),
        at_nodes(space.mesh(), finer.nodes()) {}

  mesh::Quadrature rule;
  mesh::LagrangeBasis finer;
  Eigen::MatrixXd values;
  std::vector<Eigen::MatrixXd> gradients, finer_gradients;
  mesh::GeometryTables at_points, at_nodes;
};

/// Squares of both errors on one cell.
Errors cell_errors(const ErrorTables& tables, const Expression& exact, const mesh::Mesh& mesh, std::int32_t cell,
                   const Eigen::VectorXd& u, mesh::CellGeometry& at_points, mesh::CellGeometry& at_nodes) {
  const int d = mesh.dimension();
  at_points.move_to(mesh, cell);
  at_nodes.move_to(mesh, cell);
  std::vector<double> exact_values(tables.rule.size());
  Eigen::VectorXd exact_nodes(tables.finer.size());
  exact.evaluate(at_points.all_points(), exact_values);
  exact.evaluate(at_nodes.all_points(), {exact_nodes.data(), static_cast<std::size_t>(exact_nodes.size())});
  const Eigen::VectorXd values = tables.values * u;
  Eigen::MatrixXd slopes(tables.rule.size(), d);
  for (int axis = 0; axis < d; ++axis)
    slopes.col(axis) = tables.finer_gradients[axis] * exact_nodes - tables.gradients[axis] * u;
  Errors squares;
  for (int q = 0; q < tables.rule.size(); ++q) {
    const double measure = tables.rule.weights[q] * at_points.determinant(q);
    squares.l2 += measure * (values[q] - exact_values[q]) * (values[q] - exact_values[q]);
    double inverse[9];
    at_points.inverse(q, inverse);
    for (int i = 0; i < d; ++i) {
      double slope = 0;
      for (int axis = 0; axis < d; ++axis) slope += inverse[axis * d + i] * slopes(q, axis);
      squares.h1 += measure * slope * slope;
    }
  }
  return squares;
}

}  // namespace

Probes locate_probes(const std::vector<Probe>& probes, const mesh::Mesh& mesh) {
  Probes located;
  std::vector<std::string> problems;
  for (const Probe& probe : probes) {
    if (const std::optional<mesh::Location> location = mesh::locate(mesh, probe.point))
      located.emplace_back(probe.name, *location);
    else
      problems.push_back(at_place(probe.place, fmt::format("probe {} at {} lies outside the mesh",
                                                           in_quotes(probe.name), point_text(probe.point.data()))));
  }
  if (!problems.empty()) throw InputError(problems);
  return located;
}

Quantities measure(const Problem& problem, const Load& load, const Probes& probes, std::span<const double> dofs) {
  const mesh::FunctionSpace& space = *problem.form().space;
  Quantities quantities;
  double least = dofs.front(), greatest = dofs.front();
#pragma omp parallel for schedule(static) reduction(min : least) reduction(max : greatest)
  for (std::size_t i = 0; i < dofs.size(); ++i) {
    least = std::min(least, dofs[i]);
    greatest = std::max(greatest, dofs[i]);
  }
  quantities.minimum = least;
  quantities.maximum = greatest;
  measure_cells(problem, load, dofs, quantities);
  measure_boundary(problem, load, dofs, quantities);
  for (const auto& [name, location] : probes)
    quantities.probes.emplace_back(
        name, (space.basis().values(location.coordinates) * cell_values(space, location.cell, dofs))(0));
  return quantities;
}

Errors measure_errors(const Field& exact, const Problem& problem, std::span<const double> dofs) {
  const mesh::FunctionSpace& space = *problem.form().space;
  const mesh::Mesh& mesh = space.mesh();
  const FieldOnRegions field(exact, "exact", mesh, std::nullopt);
  const ErrorTables tables(space, problem.form().quadrature + 2);
  std::vector<Errors> parts(mesh.cell_count());
  mesh::FirstFailure failure;
#pragma omp parallel
  {
    std::optional<mesh::CellGeometry> at_points, at_nodes;
    failure.guard(mesh::FirstFailure::preparation, [&] {
      at_points.emplace(tables.at_points);
      at_nodes.emplace(tables.at_nodes);
    });
#pragma omp for schedule(static)
    for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell)
      failure.guard(cell, [&] {
        parts[cell] =
            cell_errors(tables, field.of_cell(cell), mesh, cell, cell_values(space, cell, dofs), *at_points, *at_nodes);
      });
  }
  failure.rethrow();
  Errors squares;
  for (const Errors& part : parts) {
    squares.l2 += part.l2;
    squares.h1 += part.h1;
  }
  return {std::sqrt(squares.l2), std::sqrt(squares.h1)};
}

}  // namespace femcg::solver
