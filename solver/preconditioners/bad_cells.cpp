#include "solver/preconditioners/bad_cells.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "mesh/base/joined_sets.hpp"
#include "mesh/cells_around.hpp"

namespace femcg::solver {

using operators::BilinearForm;
using operators::BlockInverses;
using operators::CellEvaluator;

std::vector<std::int32_t> bad_cells(const BilinearForm& form, const std::vector<std::int32_t>& suspects,
                                    std::span<const double> diagonal) {
  constexpr double least_part = 0.25;
  constexpr double most_cells = 0.1;  // of all
  CellEvaluator evaluator(form);
  std::vector<double> entries(static_cast<std::size_t>(evaluator.dofs()));
  /// Calls work(unknown, K_ii) for the unknowns of a cell.
  const auto for_entries = [&](std::int32_t cell, const auto& work) {
    evaluator.move_to(cell);
    evaluator.diagonal(entries);
    form.for_nodes(cell, [&](int i, std::int32_t unknown) {
      if (unknown >= 0) work(unknown, entries[static_cast<std::size_t>(i)]);
    });
  };
  if (static_cast<double>(suspects.size()) > most_cells * form.cells()) return {};
  std::vector<double> of_suspects(diagonal.size(), 0.0);  // their part of the diagonal
  for (const std::int32_t cell : suspects)
    for_entries(cell, [&](std::int32_t i, double entry) { of_suspects[i] += entry; });
  std::vector<std::int32_t> found;
  for (const std::int32_t cell : suspects) {
    int unknowns = 0;
    for_entries(cell, [&](std::int32_t i, double) { unknowns += of_suspects[i] >= least_part * diagonal[i] ? 1 : 0; });
    if (unknowns > 1) found.push_back(cell);
  }
  return found;
}

double stretching(const mesh::Mesh& mesh) {
  constexpr std::int32_t most_cells = 512;
  const int d = mesh.dimension();
  const bool is_tensor = mesh::is_tensor(mesh.shape);
  Eigen::Matrix3d regular = Eigen::Matrix3d::Identity();  // edges of the regular cell from its first vertex
  if (!is_tensor) regular << 1, 0.5, 0.5, 0, std::sqrt(3.0) / 2, std::sqrt(3.0) / 6, 0, 0, std::sqrt(2.0 / 3);
  const Eigen::MatrixXd to_regular = regular.topLeftCorner(d, d).inverse();
  const std::vector<int> vertices = mesh::Lattice(mesh.shape, mesh.order).vertex_nodes();
  std::vector<double> ratios;
  for (std::int32_t cell = 0; cell < mesh.cell_count(); cell += std::max(1, mesh.cell_count() / most_cells)) {
    const mesh::CellNodes nodes = mesh.nodes(cell);
    Eigen::MatrixXd edges = Eigen::MatrixXd::Zero(d, d);  // of tensor cells, the means along each axis
    const auto count = static_cast<int>(vertices.size());
    for (int v = 0; v < count; ++v) {
      const std::array<double, 3> point = mesh.point(nodes[vertices[v]]);
      for (int axis = 0; axis < d; ++axis) {
        const double sign = is_tensor       ? ((v >> axis & 1) != 0 ? 2.0 : -2.0) / count
                            : v == 0        ? -1
                            : v == axis + 1 ? 1
                                            : 0;
        edges.col(axis) += sign * Eigen::Map<const Eigen::VectorXd>(point.data(), d);
      }
    }
    const Eigen::VectorXd extents = Eigen::JacobiSVD<Eigen::MatrixXd>(edges * to_regular).singularValues();
    if (extents(d - 1) > 0) ratios.push_back(extents(0) / extents(d - 1));
  }
  if (ratios.empty()) return 1;
  const auto middle = ratios.begin() + std::ssize(ratios) / 2;
  std::ranges::nth_element(ratios, middle);
  return *middle;
}

BlockInverses inverses_round(const BilinearForm& form, const std::vector<std::int32_t>& cells) {
  constexpr std::size_t most_unknowns = 2048;
  std::vector<std::int32_t> all;  // unknowns of the cells, each once; below they go by their places in this list
  for (const std::int32_t cell : cells) form.for_unknowns(cell, [&](std::int32_t unknown) { all.push_back(unknown); });
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  const auto place_in_all = [&](std::int32_t unknown) {
    const auto found = std::ranges::lower_bound(all, unknown);
    return found != all.end() && *found == unknown ? static_cast<std::int32_t>(found - all.begin()) : -1;
  };
  // Blocks: those of cells that are joined by common ones.
  mesh::JoinedSets sets(static_cast<std::int32_t>(all.size()));
  for (const std::int32_t cell : cells) {
    std::int32_t first = -1;
    form.for_unknowns(cell, [&](std::int32_t unknown) {
      const std::int32_t place = place_in_all(unknown);
      if (first < 0) first = place;
      sets.join(first, place);
    });
  }
  std::vector<std::int32_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::int32_t place) { return sets.least(place); });
  BlockInverses blocks;
  std::vector<std::int32_t> block_of(all.size(), -1), place_of(block_of);
  for (auto first = order.begin(); first != order.end();) {
    const std::int32_t least = sets.least(*first);
    const auto last = std::find_if(first, order.end(), [&](std::int32_t place) { return sets.least(place) != least; });
    const auto size = static_cast<std::size_t>(last - first);
    if (size <= most_unknowns) {
      for (auto place = first; place != last; ++place) {
        block_of[*place] = blocks.count();
        place_of[*place] = static_cast<std::int32_t>(place - first);
        blocks.unknowns.push_back(all[*place]);
      }
      blocks.begin.push_back(static_cast<std::int32_t>(blocks.unknowns.size()));
      blocks.values_begin.push_back(blocks.values_begin.back() + static_cast<std::int64_t>(size * size));
    }
    first = last;
  }

  // The entries of A in them, from all cells that have their unknowns: these have a vertex of the cells.
  std::vector<Eigen::MatrixXd> matrices;
  for (std::int32_t block = 0; block < blocks.count(); ++block) {
    const Eigen::Index size = blocks.begin[block + 1] - blocks.begin[block];
    matrices.emplace_back(Eigen::MatrixXd::Zero(size, size));
  }
  CellEvaluator evaluator(form);
  const int n = evaluator.dofs();
  std::vector<double> packed(static_cast<std::size_t>(n) * (n + 1) / 2);
  std::vector<std::int32_t> places(static_cast<std::size_t>(n));
  for (const std::int32_t cell : mesh::cells_around(form.space->mesh(), cells)) {
    bool meets = false;
    form.for_nodes(cell, [&](int i, std::int32_t unknown) {
      places[i] = unknown >= 0 ? place_in_all(unknown) : -1;
      meets = meets || (places[i] >= 0 && block_of[places[i]] >= 0);
    });
    if (!meets) continue;
    evaluator.move_to(cell);
    evaluator.matrix(packed);
    for (int i = 0, k = 0; i < n; ++i)
      for (int j = 0; j <= i; ++j, ++k) {
        const std::int32_t row = places[i], column = places[j];
        if (row < 0 || column < 0 || block_of[row] < 0 || block_of[row] != block_of[column]) continue;
        Eigen::MatrixXd& matrix = matrices[block_of[row]];
        matrix(place_of[row], place_of[column]) += packed[k];
        if (i != j) matrix(place_of[column], place_of[row]) += packed[k];
      }
  }
  blocks.values.resize(static_cast<std::size_t>(blocks.values_begin.back()));
  for (std::int32_t block = 0; block < blocks.count(); ++block) {
    const Eigen::MatrixXd inverse =
        matrices[block].llt().solve(Eigen::MatrixXd::Identity(matrices[block].rows(), matrices[block].cols()));
    Eigen::Map<Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic>>(blocks.values.data() + blocks.values_begin[block],
                                                                     inverse.rows(), inverse.cols()) =
        (0.5 * (inverse + inverse.transpose())).cast<float>();
  }
  return blocks;
}

}  // namespace femcg::solver
