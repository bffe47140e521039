#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "operators/catalogue.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "operators/transfers/local_solves.hpp"
#include "operators/transfers/transfer.hpp"
#include "solver/preconditioners/coarse_form.hpp"

namespace femcg::solver {

/// A level of multigrid: its operator, its smoother's data and the transfer to the next coarser level.
template <std::floating_point T>
struct Level {
  std::string kind;                 ///< "degree 2", "box", "aggregates", "inverse"
  std::string operator_name;        ///< in the catalogue
  const operators::Operator<T>* a;  ///< on the coarsest level A^-1; null where another process has the level
  std::unique_ptr<operators::Operator<T>> made;
  operators::InverseDiagonal inverse_diagonal;        ///< D^-1, 0 where a block is inverted
  std::unique_ptr<operators::LocalSolves<T>> blocks;  ///< B, where cells are bad or a box is stretched; else null
  bool smooths_lines = false;                         ///< B has the lines of a box, and all unknowns
  double largest = 1;                                 ///< eigenvalue of (D^-1 + B) A
  int smoothing = 0;                                  ///< degree of the smoother's polynomial
  int visits = 1;                                     ///< of the cycle, for each of the next finer level
  std::unique_ptr<operators::Transfer<T>> transfer;   ///< to the next level; none on the coarsest

  bool is_elsewhere() const { return a == nullptr; }
  bool is_coarsest() const { return transfer == nullptr; }
  /// Operator, transfer and smoother; not an operator that is somebody else's.
  std::int64_t stored_bytes() const;
};

/// The degree of the level after this one: 3, 2, 1 and, on simplices, where 2 after 4 costs a quarter more iterations,
/// 4, 3; else 4, 2.
int next_degree(mesh::CellShape shape, int degree);

/// How levels are made.
struct HierarchyChoice {
  std::string fine = "matrix-free";  ///< operator of levels of degree 2 and more
  std::string coarse = "csr";        ///< operator of stored levels
  int smoothing = 0;                 ///< degree of the smoother's polynomial; 0: 3, and more for stretched cells
  double threshold = 0.45;           ///< of strong connections
  std::int32_t coarsest = 600;       ///< the most unknowns of the level that is solved directly
  double most_complexity = 1.6;      ///< Hierarchy::operator_complexity; levels beyond it get no smoothed prolongation
};

/// The finest level, as far as it is at hand. Collective.
template <std::floating_point T>
struct FinestLevel {
  const operators::Operator<T>* a = nullptr;  ///< its operator; null: one is made
  /// The operator of that name, from one that is there; none, or null from it: it is made from the form.
  std::function<std::unique_ptr<operators::Operator<T>>(std::string_view name)> derived = {};
  /// The diagonal of A in the ordering of its operator; none: that computes it.
  std::function<operators::Vector<T>(const operators::Operator<T>&)> diagonal = {};
  const operators::CsrMatrix<double>* matrix = nullptr;  ///< of a form of degree 1; null: it is assembled
};

/// The levels of a form, the finest first. Several processes share those down to degree 1; the first has all below, and
/// on the others one level that is elsewhere stands for them.
template <std::floating_point T>
struct Hierarchy {
  std::vector<std::unique_ptr<CoarseForm>> forms;  ///< that operators of the levels refer to
  std::vector<Level<T>> levels;
  double stretching = 1;           ///< of the mesh's cells
  std::size_t shared = 0;          ///< levels that several processes share
  double operator_complexity = 1;  ///< entries of all levels of aggregates over those of the first of them
  int unsmoothed = 0;              ///< levels of aggregates with the tentative prolongation, which has fewer entries
};

/// Levels by degree (4, 2, 1 or 3, 2, 1 or 2, 1) of a form, then, on one process, by boxes with half as many cells,
/// then by smoothed aggregation, which begins at once for a matrix. Throws InputError where an operator is not positive
/// definite. Collective.
template <std::floating_point T>
Hierarchy<T> make_hierarchy(const operators::CsrMatrix<double>& matrix, operators::Device device,
                            const FinestLevel<T>& finest, const HierarchyChoice& choice);
template <std::floating_point T>
Hierarchy<T> make_hierarchy(const operators::BilinearForm& form, const PartOfForm& of, operators::Device device,
                            const FinestLevel<T>& finest, const HierarchyChoice& choice);

}  // namespace femcg::solver
