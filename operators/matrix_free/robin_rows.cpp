#include "operators/matrix_free/robin_rows.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <numeric>

#include "mesh/first_failure.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::operators {

namespace {

struct RobinEntry {
  std::int32_t column;
  double value;
};

/// What facets have of a row, its columns told apart: those of one column are added up in the order of the facets.
void add_up(std::vector<RobinEntry>& row) {
  std::ranges::stable_sort(row, {}, &RobinEntry::column);
  std::size_t count = 0;
  for (const RobinEntry& entry : row)
    if (count > 0 && row[count - 1].column == entry.column)
      row[count - 1].value += entry.value;
    else
      row[count++] = entry;
  row.resize(count);
}

}  // namespace

RobinRows robin_rows(const BilinearForm& form) {
  RobinRows robin;
  if (form.robin.empty()) return robin;
  const std::size_t n = form.space->facet_nodes(0).size(), places = form.robin.size() * n;
  std::vector<std::int32_t> unknowns(places);
  std::vector<double> matrices(places * n);
  for_each_facet(*form.space, form.quadrature, form.robin.size(), [&](FacetEvaluator& evaluator, std::size_t k) {
    const RobinFacet& facet = form.robin[k];
    evaluator.move_to({facet.cell, facet.facet});
    const std::vector<int>& nodes = form.space->facet_nodes(facet.facet);
    const Eigen::MatrixXd values = evaluator.values()(Eigen::all, nodes);
    const Eigen::Map<const Eigen::ArrayXd> transfer(facet.transfer.data(), evaluator.points()),
        measures(evaluator.measures().data(), evaluator.points());
    const auto size = static_cast<Eigen::Index>(n);
    Eigen::Map<Eigen::MatrixXd>(matrices.data() + k * n * n, size, size) =
        values.transpose() * (transfer * measures).matrix().asDiagonal() * values;
    for (std::size_t i = 0; i < n; ++i) unknowns[k * n + i] = form.unknown(facet.cell, nodes[i]);
  });
  // The places of each unknown, in their order.
  std::vector<std::int32_t> ends(static_cast<std::size_t>(form.unknowns) + 1, 0);
  for (const std::int32_t unknown : unknowns)
    if (unknown >= 0) ++ends[static_cast<std::size_t>(unknown) + 1];
  for (std::int32_t unknown = 0; unknown < form.unknowns; ++unknown)
    if (ends[static_cast<std::size_t>(unknown) + 1] > 0) robin.rows.push_back(unknown);
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<std::int32_t> of_unknown(static_cast<std::size_t>(ends.back())), next(ends.begin(), ends.end() - 1);
  for (std::size_t place = 0; place < places; ++place)
    if (unknowns[place] >= 0)
      of_unknown[static_cast<std::size_t>(next[static_cast<std::size_t>(unknowns[place])]++)] =
          static_cast<std::int32_t>(place);

  const auto count = static_cast<std::int64_t>(robin.rows.size());
  std::vector<std::vector<RobinEntry>> rows(robin.rows.size());
  mesh::FirstFailure failure;
#pragma omp parallel for schedule(dynamic, 256)
  for (std::int64_t k = 0; k < count; ++k)
    failure.guard(k, [&] {
      std::vector<RobinEntry>& row = rows[static_cast<std::size_t>(k)];
      const auto unknown = static_cast<std::size_t>(robin.rows[static_cast<std::size_t>(k)]);
      for (std::int32_t at = ends[unknown]; at < ends[unknown + 1]; ++at) {
        const auto place = static_cast<std::size_t>(of_unknown[static_cast<std::size_t>(at)]);
        for (std::size_t j = 0; j < n; ++j)
          if (const std::int32_t column = unknowns[place / n * n + j]; column >= 0)
            row.push_back({column, matrices[place * n + j]});
      }
      add_up(row);
    });
  failure.rethrow();
  robin.offsets.assign(1, 0);
  for (const auto& row : rows) robin.offsets.push_back(robin.offsets.back() + static_cast<std::int32_t>(row.size()));
  robin.columns.resize(static_cast<std::size_t>(robin.offsets.back()));
  robin.values.resize(robin.columns.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < count; ++k) {
    auto at = static_cast<std::size_t>(robin.offsets[static_cast<std::size_t>(k)]);
    for (const auto& [column, value] : rows[static_cast<std::size_t>(k)]) {
      robin.columns[at] = column;
      robin.values[at++] = value;
    }
  }
  return robin;
}

}  // namespace femcg::operators
