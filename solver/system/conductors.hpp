#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "operators/forms/cell_diffusion.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// Parts of a mesh that conduct much better than what is around them, and touch no boundary value: with 1_R = 1 on the
/// unknowns of such a part R, 1_R'A1_R is far below the entries of A, so that rounding of A w is taken for heat that
/// flows into R, and CG learns of R last. A1_R comes from the cells around R and from transfer, without rounding.
///
/// A jump is a factor of more than about 100 in the ordered diffusions of all cells; the cells above it are such parts,
/// each with those it is joined to.
class Conductors {
 public:
  /// Collective, as all here, where several processes have parts.
  explicit Conductors(const Problem& problem);

  std::size_t count() const { return units_.size(); }
  double unit(std::size_t part) const { return units_[part]; }              ///< 1_R'A1_R
  std::int32_t unknown(std::size_t part) const { return unknowns_[part]; }  ///< one of them; -1: none here
  /// 1_R'v; of entries that other processes have as well, the first counts.
  std::vector<double> sums(std::span<const double> v) const;
  /// Sets all unknowns of the parts.
  void mark(std::vector<char>& unknowns) const;
  /// 1_R'Aw.
  std::vector<double> heat(std::span<const double> w) const;
  /// The least diffusion over the largest at the points of a cell that has the unknown; 1 where it jumps within none.
  double within_cells(std::size_t unknown) const { return within_cells_.empty() ? 1 : within_cells_[unknown]; }
  /// Spreads over the rows of each part what its sum lacks of 1_R'v = sums.
  void set_sums(const std::vector<double>& sums, std::span<double> v) const;

 private:
  struct Row {
    std::int32_t unknown, part;
    double value;  ///< (A1_R)_i, of the cells of this process
  };
  struct Level {
    double least;                      ///< diffusion of the cells above the jump
    std::vector<std::int32_t> of_dof;  ///< the part of each dof; -1: none
  };
  /// Sums over all dofs, which add(dof, sums) adds to those of the parts; the same for any number of threads.
  template <class Add>
  std::vector<double> sums_over_dofs(const Add& add) const;
  std::int32_t best_part(std::size_t dof) const;  ///< of the best conductor that has it; -1: none
  std::vector<double> jumps(std::span<const double> of_cells) const;
  void find_jumps_within(const operators::CellDiffusion& diffusion);
  void add_level(double least, std::span<const double> of_cells);
  void share(Level& level) const;
  void add_rows(const Level& level);

  const Problem* problem_;
  std::vector<Level> levels_;  ///< the best conductors first
  std::vector<Row> rows_;
  std::vector<double> units_, counts_;  ///< counts of unknowns that are in no better conductor
  std::vector<std::int32_t> unknowns_;
  std::vector<double> within_cells_;  ///< empty: 1 everywhere
};

}  // namespace femcg::solver
