#include "solver/preconditioners/local_inverses.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "mesh/base/first_failure.hpp"
#include "mesh/base/joined_sets.hpp"
#include "mesh/cells_around.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::solver {

using operators::BilinearForm;
using operators::BlockInverses;
using operators::CellEvaluator;

namespace {

void sort_unique(std::vector<std::int32_t>& numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
}

/// Index of a number in an ascending list; -1 if it is not in the list.
std::int32_t place_in(std::span<const std::int32_t> ascending, std::int32_t number) {
  const auto found = std::ranges::lower_bound(ascending, number);
  return found != ascending.end() && *found == number ? static_cast<std::int32_t>(found - ascending.begin()) : -1;
}

/// Cells and ascending unknowns of the blocks.
class Blocks {
 public:
  Blocks(const BilinearForm& form, const std::vector<std::int32_t>& cells, const std::vector<char>& left_out)
      : form_(form), left_out_(left_out) {
    const mesh::Mesh& mesh = form.space->mesh();
    const std::vector<std::int32_t> set_of_cell = joined_sets(cells);
    std::map<std::int32_t, std::size_t> of_sets, of_vertices;  // their blocks
    for (std::size_t k = 0; k < cells.size(); ++k) {
      if (set_of_cell[k] < 0) continue;
      if (size_[set_of_cell[k]] <= most_unknowns)
        add(cells[k], block_of(set_of_cell[k], of_sets));
      else if (mesh::is_tensor(mesh.shape))
        add(cells[k], new_block());
      else
        for (int v = 0; v < mesh::vertex_count(mesh.shape); ++v)
          add(cells[k], block_of(mesh.nodes(cells[k])[mesh_vertices_[v]], of_vertices), v);
    }
    mesh::parallel_for(unknowns_.size(), [&](std::size_t block) { sort_unique(unknowns_[block]); });
  }

  const std::vector<std::vector<std::int32_t>>& cells() const { return cells_; }
  const std::vector<std::vector<std::int32_t>>& unknowns() const { return unknowns_; }

 private:
  static constexpr std::int32_t most_unknowns = 2048;  ///< in a block of several cells

  template <class Work>
  void for_unknowns(std::int32_t cell, const Work& work) const {
    form_.for_nodes(cell, [&](int i, std::int32_t unknown) {
      if (unknown >= 0 && (left_out_.empty() || left_out_[unknown] == 0)) work(i, unknown);
    });
  }
  /// For each cell the set of cells connected to it by common unknowns; -1 if it has no unknowns. Sets size_.
  std::vector<std::int32_t> joined_sets(const std::vector<std::int32_t>& cells) {
    std::vector<std::int32_t> all;
    for (const std::int32_t cell : cells)
      for_unknowns(cell, [&](int, std::int32_t unknown) { all.push_back(unknown); });
    sort_unique(all);
    mesh::JoinedSets sets(static_cast<std::int32_t>(all.size()));
    std::vector<std::int32_t> of_cell(cells.size(), -1);
    for (std::size_t k = 0; k < cells.size(); ++k)
      for_unknowns(cells[k], [&](int, std::int32_t unknown) {
        const std::int32_t place = place_in(all, unknown);
        if (of_cell[k] < 0) of_cell[k] = place;
        sets.join(of_cell[k], place);
      });
    size_.resize(all.size());
    for (std::int32_t place = 0; place < std::ssize(all); ++place) ++size_[sets.least(place)];
    for (std::int32_t& of : of_cell)
      if (of >= 0) of = sets.least(of);
    return of_cell;
  }
  std::size_t new_block() {
    cells_.emplace_back();
    unknowns_.emplace_back();
    return cells_.size() - 1;
  }
  std::size_t block_of(std::int32_t key, std::map<std::int32_t, std::size_t>& blocks) {
    const auto found = blocks.find(key);
    return found != blocks.end() ? found->second : blocks.emplace(key, new_block()).first->second;
  }
  /// Adds a cell's unknowns, or only those in its interior and of its vertex v with the adjacent edges and faces.
  void add(std::int32_t cell, std::size_t block, std::optional<int> v = std::nullopt) {
    constexpr double rounding = 1e-9;
    cells_[block].push_back(cell);
    for_unknowns(cell, [&](int i, std::int32_t unknown) {
      if (!v || hats_(i, vertices_[*v]) > rounding) unknowns_[block].push_back(unknown);
    });
  }

  const BilinearForm& form_;
  const std::vector<char>& left_out_;
  const std::vector<int> mesh_vertices_ =
      mesh::Lattice(form_.space->mesh().shape, form_.space->mesh().order).vertex_nodes();
  const mesh::LagrangeBasis linear_{form_.space->mesh().shape, 1, mesh::NodeFamily::equispaced};
  const std::vector<int> vertices_ = linear_.lattice().vertex_nodes();
  const Eigen::MatrixXd hats_ = linear_.values(form_.space->basis().nodes());  ///< at the nodes; 0 opposite the vertex
  std::vector<std::int32_t> size_;                                             ///< number of unknowns of a set
  std::vector<std::vector<std::int32_t>> cells_, unknowns_;
};

/// Element matrices of all cells that have unknowns of some blocks.
class MatricesRound {
 public:
  MatricesRound(const BilinearForm& form, const std::vector<std::int32_t>& cells)
      : form_(form), cells_(mesh::cells_around(form.space->mesh(), cells)) {
    const auto n = static_cast<std::size_t>(form.dofs_per_cell());
    packed_ = n * (n + 1) / 2;
    values_.resize(cells_.size() * packed_);
    mesh::parallel_for(
        cells_.size(), [&] { return CellEvaluator(form); },
        [&](CellEvaluator& evaluator, std::size_t k) {
          evaluator.move_to(cells_[k]);
          evaluator.matrix(std::span(values_).subspan(k * packed_, packed_));
        });
    for (std::size_t k = 0; k < cells_.size(); ++k)
      form.for_unknowns(cells_[k],
                        [&](std::int32_t unknown) { cells_of_.emplace_back(unknown, static_cast<std::int32_t>(k)); });
    std::ranges::sort(cells_of_);
  }

  /// A_b, assembled from all cells with unknowns of the block.
  Eigen::MatrixXd block(const std::vector<std::int32_t>& unknowns) const {
    std::vector<std::int32_t> of_block;
    for (const std::int32_t unknown : unknowns)
      for (auto at = std::ranges::lower_bound(cells_of_, std::pair(unknown, std::int32_t{0}));
           at != cells_of_.end() && at->first == unknown; ++at)
        of_block.push_back(at->second);
    sort_unique(of_block);
    Eigen::MatrixXd a = Eigen::MatrixXd::Zero(std::ssize(unknowns), std::ssize(unknowns));
    const int n = form_.dofs_per_cell();
    std::vector<std::int32_t> places(static_cast<std::size_t>(n));
    for (const std::int32_t k : of_block) {
      form_.for_nodes(cells_[k], [&](int i, std::int32_t unknown) { places[i] = place_in(unknowns, unknown); });
      const double* entry = values_.data() + static_cast<std::size_t>(k) * packed_;
      for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j, ++entry) {
          if (places[i] < 0 || places[j] < 0) continue;
          a(places[i], places[j]) += *entry;
          if (i != j) a(places[j], places[i]) += *entry;
        }
    }
    return a;
  }

 private:
  const BilinearForm& form_;
  std::vector<std::int32_t> cells_;
  std::size_t packed_ = 0;
  std::vector<double> values_;
  std::vector<std::pair<std::int32_t, std::int32_t>> cells_of_;  ///< unknown, and index into cells_
};

}  // namespace

BlockInverses inverses_round(const BilinearForm& form, const std::vector<std::int32_t>& cells,
                             const std::vector<char>& left_out) {
  constexpr std::size_t most_entries = std::size_t{1} << 25;  // of the element matrices in memory at a time
  const auto n = static_cast<std::size_t>(form.dofs_per_cell());
  const Blocks blocks(form, cells, left_out);
  BlockInverses inverses;
  for (const std::vector<std::int32_t>& unknowns : blocks.unknowns()) {
    inverses.unknowns.insert(inverses.unknowns.end(), unknowns.begin(), unknowns.end());
    inverses.begin.push_back(static_cast<std::int32_t>(inverses.unknowns.size()));
    inverses.values_begin.push_back(inverses.values_begin.back() + std::ssize(unknowns) * std::ssize(unknowns));
  }
  inverses.values.resize(static_cast<std::size_t>(inverses.values_begin.back()));
  for (std::size_t first = 0, last = 0; first < blocks.cells().size(); first = last) {
    std::vector<std::int32_t> of_these;
    for (; last < blocks.cells().size() && of_these.size() * n * n < most_entries; ++last)
      of_these.insert(of_these.end(), blocks.cells()[last].begin(), blocks.cells()[last].end());
    const MatricesRound matrices(form, of_these);
    mesh::parallel_for(last - first, [&](std::size_t k) {
      const Eigen::MatrixXd a = matrices.block(blocks.unknowns()[first + k]),
                            inverse = a.llt().solve(Eigen::MatrixXd::Identity(a.rows(), a.cols()));
      Eigen::Map<Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic>>(
          inverses.values.data() + inverses.values_begin[first + k], a.rows(), a.cols()) =
          (0.5 * (inverse + inverse.transpose())).cast<float>();
    });
  }
  return inverses;
}

}  // namespace femcg::solver
