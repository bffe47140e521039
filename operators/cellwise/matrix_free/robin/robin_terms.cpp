#include "operators/cellwise/matrix_free/robin/robin_terms.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "mesh/base/counting.hpp"
#include "mesh/base/pages.hpp"
#include "mesh/base/sorting.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::operators {

namespace {

/// The values of a facet's basis functions at its quadrature points, [points][nodes].
Eigen::MatrixXd values_on(const BilinearForm& form, FacetEvaluator& evaluator, int facet) {
  evaluator.move_to({form.robin.front().cell, facet});
  return evaluator.values()(Eigen::all, form.space->facet_nodes(facet));
}

/// For each facet of the reference cell its nodes, in the order in which their basis functions have the values of
/// `table`.
std::vector<std::vector<int>> alike_nodes(const BilinearForm& form, const Eigen::MatrixXd& table) {
  constexpr double rounding = 1e-10;
  std::vector<std::vector<int>> alike(mesh::facets(form.space->mesh().shape).size());
  FacetEvaluator evaluator(*form.space, form.quadrature);
  for (int facet = 0; facet < static_cast<int>(alike.size()); ++facet) {
    const Eigen::MatrixXd values = values_on(form, evaluator, facet);
    const std::vector<int>& nodes = form.space->facet_nodes(facet);
    for (Eigen::Index a = 0; a < table.cols(); ++a)
      for (Eigen::Index b = 0; b < values.cols(); ++b)
        if ((table.col(a) - values.col(b)).cwiseAbs().maxCoeff() < rounding) alike[facet].push_back(nodes[b]);
    if (alike[facet].size() != nodes.size()) throw std::logic_error("facets of one cell have different functions");
  }
  return alike;
}

/// The facets sorted by the least of their positions, so that neighbours in the list share unknowns.
std::vector<std::int32_t> in_order_of_positions(const BilinearForm& form, std::span<const std::int32_t> position) {
  mesh::Array<mesh::NumberedKey> keys = mesh::unset<mesh::NumberedKey>(form.robin.size());
#pragma omp parallel for schedule(static)
  for (std::size_t f = 0; f < keys.size(); ++f) {
    std::int32_t least = std::numeric_limits<std::int32_t>::max();
    for (const int node : form.space->facet_nodes(form.robin[f].facet))
      if (const std::int32_t unknown = form.unknown(form.robin[f].cell, node); unknown >= 0)
        least = std::min(least, position[unknown]);
    keys[f] = {static_cast<std::uint64_t>(least), static_cast<std::int32_t>(f)};
  }
  keys = mesh::sorted_in_parallel(std::move(keys));
  std::vector<std::int32_t> order(keys.size());
  std::ranges::transform(keys, order.begin(), &mesh::NumberedKey::number);
  return order;
}

/// Sets `rows` and `more`.
void list_rows(RobinTerms& terms, std::size_t unknowns) {
  const std::span<const std::int32_t> of_places(terms.positions);
  mesh::Array<std::int32_t> ends = mesh::array_of<std::int32_t>(unknowns);
#pragma omp parallel for schedule(static)
  for (std::size_t place = 0; place < of_places.size(); ++place)
    if (of_places[place] >= 0) mesh::count_one(ends[of_places[place]]);
  mesh::Array<std::int32_t> places =
      mesh::unset<std::int32_t>(static_cast<std::size_t>(mesh::sum_before(std::span(ends))));
#pragma omp parallel for schedule(static)
  for (std::size_t place = 0; place < of_places.size(); ++place)
    if (of_places[place] >= 0) places[mesh::count_one(ends[of_places[place]])] = static_cast<std::int32_t>(place);
  const auto begin_of = [&](std::int64_t position) { return position > 0 ? ends[position - 1] : 0; };
  const auto positions = mesh::collect<std::int32_t>(static_cast<std::int64_t>(unknowns),
                                                     [&](std::int64_t position, std::vector<std::int32_t>& found) {
                                                       if (ends[position] > begin_of(position))
                                                         found.push_back(static_cast<std::int32_t>(position));
                                                     });
  terms.rows = mesh::unset<RobinTerms::Row>(positions.size());
  mesh::Array<std::int32_t> rest =
      mesh::unset<std::int32_t>(positions.size());  // counts of each row in `more`, then their begins
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < positions.size(); ++k) {
    const std::int32_t position = positions[k], begin = begin_of(position), count = ends[position] - begin;
    std::sort(places.begin() + begin, places.begin() + begin + count);  // threads came in any order
    terms.rows[k] = {position, places[begin], count > 1 ? places[begin + 1] : -1, -1};
    rest[k] = count > 2 ? count - 1 : 0;
  }
  terms.more.resize(static_cast<std::size_t>(mesh::sum_before(std::span(rest))));
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < positions.size(); ++k) {
    const std::int32_t begin = begin_of(positions[k]), end = ends[positions[k]];
    if (end - begin <= 2) continue;
    terms.rows[k].rest = rest[k];
    terms.more[rest[k]] = end - begin - 2;
    std::copy(places.begin() + begin + 2, places.begin() + end, terms.more.begin() + rest[k] + 1);
  }
}

}  // namespace

RobinTerms robin_terms(const BilinearForm& form, std::span<const std::int32_t> unknown_at) {
  RobinTerms terms;
  if (form.robin.empty()) return terms;
  FacetEvaluator first(*form.space, form.quadrature);
  const Eigen::MatrixXd table = values_on(form, first, 0);
  terms.points = static_cast<int>(table.rows());
  terms.nodes = static_cast<int>(table.cols());
  for (int q = 0; q < terms.points; ++q)
    for (int a = 0; a < terms.nodes; ++a) terms.table.push_back(table(q, a));
  const std::vector<std::vector<int>> nodes = alike_nodes(form, table);

  mesh::Array<std::int32_t> position = mesh::unset<std::int32_t>(unknown_at.size());
#pragma omp parallel for schedule(static)
  for (std::size_t at = 0; at < unknown_at.size(); ++at) position[unknown_at[at]] = static_cast<std::int32_t>(at);
  const std::vector<std::int32_t> order = in_order_of_positions(form, position);
  terms.facets = (std::ssize(order) + RobinTerms::group - 1) / RobinTerms::group * RobinTerms::group;
  if (terms.facets * terms.nodes > std::numeric_limits<std::int32_t>::max())
    throw std::length_error("Robin facets have more than 2^31 - 1 nodes");
  terms.positions = mesh::array_of<std::int32_t>(static_cast<std::size_t>(terms.facets * terms.nodes), -1);
  terms.weights = mesh::array_of<double>(static_cast<std::size_t>(terms.facets * terms.points));
  for_each_facet(*form.space, form.quadrature, order.size(), [&](FacetEvaluator& evaluator, std::size_t k) {
    const RobinFacet& facet = form.robin[order[k]];
    const auto number = static_cast<std::int64_t>(k);
    evaluator.move_to({facet.cell, facet.facet});
    for (int q = 0; q < terms.points; ++q)
      terms.weights[RobinTerms::place_of(number, q, terms.points)] = facet.transfer[q] * evaluator.measures()[q];
    for (int a = 0; a < terms.nodes; ++a)
      if (const std::int32_t unknown = form.unknown(facet.cell, nodes[facet.facet][a]); unknown >= 0)
        terms.positions[RobinTerms::place_of(number, a, terms.nodes)] = position[unknown];
  });
  list_rows(terms, unknown_at.size());
  return terms;
}

}  // namespace femcg::operators
