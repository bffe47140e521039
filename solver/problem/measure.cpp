#include "solver/problem/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "mesh/geometry.hpp"
#include "solver/coefficients/field.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::solver {

namespace {

/// Integral of kappa du/dn over every boundary facet, in the order of Problem::boundary.
std::vector<double> facet_fluxes(const Problem& problem, const Load& load, std::span<const double> dofs) {
  const operators::BilinearForm& form = problem.form();
  const mesh::FunctionSpace& space = *form.space;
  const auto& boundary = problem.boundary();
  const auto is_value = [](const ConditionedFacet& facet) {
    return !facet.insulated() && facet.kind == BoundaryKind::value;
  };

  std::vector<double> reactions;
  std::vector<int> sharers(space.dof_count(), 0);  // Dirichlet facets at each dof: they share its reaction
  for (const ConditionedFacet& facet : boundary)
    if (is_value(facet))
      for (const int a : space.facet_nodes(facet.facet.facet)) ++sharers[space.dofs(facet.facet.cell)[a]];
  if (std::any_of(boundary.begin(), boundary.end(), is_value)) {
    reactions = operators::ReferenceOperator(form).apply_to_dofs(dofs);
    for (std::size_t dof = 0; dof < reactions.size(); ++dof) reactions[dof] -= load.of_dofs()[dof];
  }

  operators::FacetEvaluator evaluator(space, form.quadrature);
  std::vector<double> fluxes(boundary.size(), 0.0), values, transfer;
  for (std::size_t f = 0; f < boundary.size(); ++f) {
    if (boundary[f].insulated()) continue;
    const mesh::BoundaryFacet facet = boundary[f].facet;
    const BoundaryCondition& condition = load.boundary()[boundary[f].condition];
    const std::vector<int>& nodes = space.facet_nodes(facet.facet);
    const auto cell_dofs = space.dofs(facet.cell);
    if (is_value(boundary[f])) {
      for (const int a : nodes) fluxes[f] += reactions[cell_dofs[a]] / sharers[cell_dofs[a]];
      continue;
    }
    evaluator.move_to(facet);
    values.resize(evaluator.points());
    prescribed_flux(condition, evaluator.points_in_space(), values);
    if (condition.kind == BoundaryKind::transfer) {
      transfer.resize(values.size());
      condition.transfer.evaluate(evaluator.points_in_space(), transfer);
      for (int q = 0; q < evaluator.points(); ++q)
        for (const int a : nodes) values[q] -= transfer[q] * evaluator.values()(q, a) * dofs[cell_dofs[a]];
    }
    for (int q = 0; q < evaluator.points(); ++q) fluxes[f] += values[q] * evaluator.measures()[q];
  }
  return fluxes;
}

std::map<std::string, double> group_fluxes(const Problem& problem, const Load& load, std::span<const double> dofs) {
  const std::vector<double> fluxes = facet_fluxes(problem, load, dofs);
  const auto& boundary = problem.boundary();
  std::map<std::string, double> sums;
  for (const mesh::BoundaryGroup& group : problem.form().space->mesh().boundaries) {
    double& sum = sums[group.name];
    for (const mesh::BoundaryFacet wanted : group.facets) {
      const auto entry = std::lower_bound(boundary.begin(), boundary.end(), wanted,
                                          [](const ConditionedFacet& a, mesh::BoundaryFacet b) {
                                            return std::pair{a.facet.cell, a.facet.facet} < std::pair{b.cell, b.facet};
                                          });
      sum += fluxes[entry - boundary.begin()];
    }
  }
  return sums;
}

/// The sum over cells of what `work` gives for each: partial sums per cell, added in the order of cells.
double integrate(const operators::BilinearForm& form,
                 const std::function<double(operators::CellEvaluator&, std::int32_t)>& work) {
  std::vector<double> parts(form.cells());
  operators::for_each_cell(
      form, [&](operators::CellEvaluator& evaluator, std::int32_t cell) { parts[cell] = work(evaluator, cell); });
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

Eigen::VectorXd cell_values(const mesh::FunctionSpace& space, std::int32_t cell, std::span<const double> dofs) {
  Eigen::VectorXd values(space.dofs_per_cell());
  for (int a = 0; a < space.dofs_per_cell(); ++a) values[a] = dofs[space.dofs(cell)[a]];
  return values;
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
  const auto [least, greatest] = std::minmax_element(dofs.begin(), dofs.end());
  quantities.minimum = *least;
  quantities.maximum = *greatest;
  quantities.integral = integrate(problem.form(), [&](operators::CellEvaluator& evaluator, std::int32_t cell) {
    const Eigen::VectorXd values = evaluator.values() * cell_values(space, cell, dofs);
    return values.dot(Eigen::Map<const Eigen::VectorXd>(evaluator.measures().data(), evaluator.points()));
  });
  quantities.flux = group_fluxes(problem, load, dofs);
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
  operators::for_each_cell(problem.form(), [&](operators::CellEvaluator&, std::int32_t cell) {
    mesh::CellGeometry at_points(tables.at_points), at_nodes(tables.at_nodes);
    parts[cell] =
        cell_errors(tables, field.of_cell(cell), mesh, cell, cell_values(space, cell, dofs), at_points, at_nodes);
  });
  Errors squares;
  for (const Errors& part : parts) {
    squares.l2 += part.l2;
    squares.h1 += part.h1;
  }
  return {std::sqrt(squares.l2), std::sqrt(squares.h1)};
}

}  // namespace femcg::solver
