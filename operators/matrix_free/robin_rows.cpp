#include "operators/matrix_free/robin_rows.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <numeric>

#include "mesh/counting.hpp"
#include "mesh/pages.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::operators {

namespace {

/// The matrices of all facets, n x n each, and the unknowns of their rows, -1 where a dof is constrained.
struct FacetMatrices {
  explicit FacetMatrices(const BilinearForm& form)
      : n(static_cast<std::int64_t>(form.space->facet_nodes(0).size())),
        unknowns(mesh::filled<std::int32_t>(form.robin.size() * n)),
        values(mesh::filled<double>(form.robin.size() * n * n)) {
    for_each_facet(*form.space, form.quadrature, form.robin.size(), [&](FacetEvaluator& evaluator, std::size_t k) {
      const RobinFacet& facet = form.robin[k];
      evaluator.move_to({facet.cell, facet.facet});
      const std::vector<int>& nodes = form.space->facet_nodes(facet.facet);
      const Eigen::MatrixXd phi = evaluator.values()(Eigen::all, nodes);
      const Eigen::Map<const Eigen::ArrayXd> transfer(facet.transfer.data(), evaluator.points()),
          measures(evaluator.measures().data(), evaluator.points());
      Eigen::Map<Eigen::MatrixXd>(&values[k * n * n], n, n).noalias() =
          phi.transpose() * (transfer * measures).matrix().asDiagonal() * phi;
      for (std::int64_t i = 0; i < n; ++i) unknowns[k * n + i] = form.unknown(facet.cell, nodes[i]);
    });
  }

  std::int64_t n;
  std::vector<std::int32_t> unknowns;
  std::vector<double> values;
};

/// Where each unknown is among those of facets, in their order.
struct PlacesOfUnknowns {
  PlacesOfUnknowns(std::span<const std::int32_t> unknowns, std::int32_t count) : ends(count + std::size_t{1}, 0) {
    for (const std::int32_t unknown : unknowns)
      if (unknown >= 0) ++ends[unknown];
    places.resize(static_cast<std::size_t>(mesh::sum_before(std::span(ends))));
    for (std::size_t place = 0; place < unknowns.size(); ++place)
      if (unknowns[place] >= 0) places[ends[unknowns[place]]++] = static_cast<std::int32_t>(place);
  }
  std::span<const std::int32_t> of(std::int32_t unknown) const {
    const std::int32_t begin = unknown > 0 ? ends[unknown - 1] : 0;
    return std::span(places).subspan(begin, ends[unknown] - begin);
  }

  std::vector<std::int32_t> ends, places;
};

/// An entry of a facet as a number that sorts by column, and then by its place in the facets' values.
std::uint64_t term_of(std::int32_t column, std::int64_t place) {
  return static_cast<std::uint64_t>(column) << 32 | static_cast<std::uint64_t>(place);
}
std::int32_t column_of(std::uint64_t term) { return static_cast<std::int32_t>(term >> 32); }
std::uint32_t place_of(std::uint64_t term) { return static_cast<std::uint32_t>(term); }

}  // namespace

RobinRows robin_rows(const BilinearForm& form) {
  RobinRows robin;
  if (form.robin.empty()) return robin;
  const FacetMatrices facets(form);
  const PlacesOfUnknowns places(facets.unknowns, form.unknowns);
  for (std::int32_t unknown = 0; unknown < form.unknowns; ++unknown)
    if (!places.of(unknown).empty()) robin.rows.push_back(unknown);
  const auto count = static_cast<std::int64_t>(robin.rows.size());
  const std::int64_t n = facets.n;
  const auto first_term = [&](std::int32_t unknown) {
    return n * (unknown > 0 ? places.ends[unknown - 1] : 0);
  };
  std::vector<std::uint64_t> terms = mesh::filled<std::uint64_t>(places.places.size() * n);
  std::vector<std::int32_t> term_counts(robin.rows.size());
  robin.offsets.resize(robin.rows.size() + 1);
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < count; ++k) {
    std::uint64_t* const begin = terms.data() + first_term(robin.rows[k]);
    std::uint64_t* end = begin;
    for (const std::int32_t place : places.of(robin.rows[k]))
      for (std::int64_t j = 0; j < n; ++j)
        if (const std::int32_t column = facets.unknowns[place / n * n + j]; column >= 0)
          *end++ = term_of(column, place * n + j);
    std::sort(begin, end);
    term_counts[k] = static_cast<std::int32_t>(end - begin);
    for (const std::uint64_t* term = begin; term < end; ++term)
      if (term == begin || column_of(term[-1]) != column_of(*term)) ++robin.offsets[k];
  }
  const std::int32_t entries = mesh::sum_before(std::span(robin.offsets));
  robin.columns = mesh::filled<std::int32_t>(entries);
  robin.values = mesh::filled<double>(entries);
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < count; ++k) {
    const std::uint64_t* const begin = terms.data() + first_term(robin.rows[k]);
    std::int32_t entry = robin.offsets[k] - 1;
    for (const std::uint64_t* term = begin; term < begin + term_counts[k]; ++term) {
      if (term == begin || column_of(term[-1]) != column_of(*term)) robin.columns[++entry] = column_of(*term);
      robin.values[entry] += facets.values[place_of(*term)];
    }
  }
  return robin;
}

}  // namespace femcg::operators
