#include "operators/matrix_free/robin_rows.hpp"

#include <Eigen/Dense>
#include <Eigen/Sparse>

#include "operators/forms/element_matrices.hpp"

namespace femcg::operators {

RobinRows robin_rows(const BilinearForm& form) {
  RobinRows robin;
  if (form.robin.empty()) return robin;
  const std::size_t n = form.space->facet_nodes(0).size();
  std::vector<Eigen::Triplet<double>> entries(form.robin.size() * n * n);
  for_each_facet(*form.space, form.quadrature, form.robin.size(), [&](FacetEvaluator& evaluator, std::size_t k) {
    const RobinFacet& facet = form.robin[k];
    evaluator.move_to({facet.cell, facet.facet});
    const std::vector<int>& nodes = form.space->facet_nodes(facet.facet);
    const Eigen::MatrixXd values = evaluator.values()(Eigen::all, nodes);
    const Eigen::Map<const Eigen::ArrayXd> transfer(facet.transfer.data(), evaluator.points()),
        measures(evaluator.measures().data(), evaluator.points());
    const Eigen::MatrixXd matrix = values.transpose() * (transfer * measures).matrix().asDiagonal() * values;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        entries[(k * n + i) * n + j] = {form.unknown(facet.cell, nodes[i]), form.unknown(facet.cell, nodes[j]),
                                        matrix(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j))};
  });
  std::erase_if(entries, [](const auto& entry) { return entry.row() < 0 || entry.col() < 0; });
  Eigen::SparseMatrix<double, Eigen::RowMajor> matrix(form.unknowns, form.unknowns);
  matrix.setFromTriplets(entries.begin(), entries.end());
  for (int row = 0; row < matrix.outerSize(); ++row) {
    Eigen::SparseMatrix<double, Eigen::RowMajor>::InnerIterator entry(matrix, row);
    if (!entry) continue;
    robin.rows.push_back(row);
    robin.offsets.push_back(static_cast<std::int32_t>(robin.columns.size()));
    for (; entry; ++entry) {
      robin.columns.push_back(entry.col());
      robin.values.push_back(entry.value());
    }
  }
  robin.offsets.push_back(static_cast<std::int32_t>(robin.columns.size()));
  return robin;
}

}  // namespace femcg::operators
