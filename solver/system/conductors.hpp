#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "operators/forms/cell_diffusion.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// Parts of a mesh that conduct much better than their surroundings, and touch no Dirichlet boundary. With 1_R = 1 on
/// the unknowns of such a part R, 1_R'A1_R is far below the entries of A, so that rounding errors of A w act like heat
/// flowing into R, and CG resolves R last. A1_R is computed from the cells around R and from transfer, without
/// cancellation.
///
/// A jump is a factor of more than about 100 between consecutive values in the ordered diffusions of all cells, least
/// eigenvalues of a tensor. The cells above a jump form the parts, one per connected component.
class Conductors {
 public:
  /// Collective, like all member functions, if several processes have subdomains.
  explicit Conductors(const Problem& problem);

  std::size_t count() const { return units_.size(); }
  double unit(std::size_t part) const { return units_[part]; }              ///< 1_R'A1_R
  std::int32_t unknown(std::size_t part) const { return unknowns_[part]; }  ///< one of the part; -1: none here
  /// 1_R'v; entries shared by processes count once, on the first of them.
  std::vector<double> sums(std::span<const double> v) const;
  /// Marks all unknowns of the parts.
  void mark(std::vector<char>& unknowns) const;
  /// 1_R'Aw.
  std::vector<double> heat(std::span<const double> w) const;
  /// Least over largest diffusion at the points of a cell with this unknown; 1 if no such cell contains a jump.
  double within_cells(std::size_t unknown) const { return within_cells_.empty() ? 1 : within_cells_[unknown]; }
  /// Corrects v so that 1_R'v = sums, distributing the difference over the rows of each part.
  void set_sums(const std::vector<double>& sums, std::span<double> v) const;

 private:
  struct Row {
    std::int32_t unknown, part;
    double value;  ///< (A1_R)_i, from this process's cells
  };
  struct Level {
    double least;                      ///< least diffusion of the cells above the jump
    std::vector<std::int32_t> of_dof;  ///< part of each dof; -1: none
  };
  /// Sums over all dofs; add(dof, sums) adds a dof's terms to the parts' sums. The same for any number of threads.
  template <class Add>
  std::vector<double> sums_over_dofs(const Add& add) const;
  std::int32_t best_part(std::size_t dof) const;  ///< of the best conductor that contains the dof; -1: none
  std::vector<double> jumps(std::span<const double> of_cells) const;
  void find_jumps_within(const operators::CellDiffusion& diffusion);
  void add_level(double least, std::span<const double> of_cells);
  void share(Level& level) const;
  void add_rows(const Level& level);

  const Problem* problem_;
  std::vector<Level> levels_;  ///< best conductors first
  std::vector<Row> rows_;
  std::vector<double> units_, counts_;  ///< counts_: unknowns that are in no better conductor
  std::vector<std::int32_t> unknowns_;
  std::vector<double> within_cells_;  ///< empty: 1 everywhere
};

}  // namespace femcg::solver
