#include "operators/forms/check/product_numbers.hpp"

#include <Eigen/Dense>

#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::operators {

std::vector<double> slopes_of_functions(const BilinearForm& form, SlopeOrder order) {
  const mesh::Quadrature rule = mesh::cell_quadrature(form.space->mesh().shape, form.quadrature);
  std::vector<double> slopes;
  for (Eigen::MatrixXd along : form.space->basis().gradients(rule.points)) {  // [points][functions], column by column
    if (order == SlopeOrder::points_functions) along.transposeInPlace();
    slopes.insert(slopes.end(), along.data(), along.data() + along.size());
  }
  return slopes;
}

RobinNumbers robin_numbers(const BilinearForm& form) {
  RobinNumbers numbers;
  if (form.robin.empty()) return numbers;
  const mesh::FunctionSpace& space = *form.space;
  FacetEvaluator evaluator(space, form.quadrature);
  const auto kinds = static_cast<std::int32_t>(mesh::facets(space.mesh().shape).size());
  for (std::int32_t kind = 0; kind < kinds; ++kind) {
    evaluator.move_to({form.robin.front().cell, kind});
    for (int q = 0; q < evaluator.points(); ++q)
      for (const int node : space.facet_nodes(kind)) numbers.tables.push_back(evaluator.values()(q, node));
  }
  const int points = numbers.points = evaluator.points();
  const int nodes = numbers.nodes = static_cast<int>(space.facet_nodes(0).size());
  const std::size_t count = form.robin.size();
  numbers.facets.resize(count);
  numbers.weights.resize(count * points);
  numbers.unknowns.resize(count * nodes);
  for_each_facet(space, form.quadrature, count, [&](FacetEvaluator& at, std::size_t f) {
    const RobinFacet& facet = form.robin[f];
    at.move_to({facet.cell, facet.facet});
    numbers.facets[f] = facet.facet;
    for (int q = 0; q < points; ++q) numbers.weights[f * points + q] = facet.transfer[q] * at.measures()[q];
    for (int i = 0; i < nodes; ++i)
      numbers.unknowns[f * nodes + i] = form.unknown(facet.cell, space.facet_nodes(facet.facet)[i]);
  });
  return numbers;
}

std::int64_t bytes_of_product(const BilinearForm& form) {
  const mesh::Mesh& mesh = form.space->mesh();
  const std::int64_t points = mesh::cell_quadrature(mesh.shape, form.quadrature).size(), d = mesh.dimension();
  const std::int64_t of_tables = d * points * (2 * form.dofs_per_cell() + mesh.nodes_per_cell());
  std::int64_t of_facets = 0;
  for (const RobinFacet& facet : form.robin)
    of_facets += std::ssize(facet.transfer) + std::ssize(form.space->facet_nodes(facet.facet));
  const std::int64_t numbers = points * form.cells() + of_tables + of_facets;
  return numbers * std::int64_t{sizeof(double)} + mesh.bytes_of_nodes();
}

}  // namespace femcg::operators
