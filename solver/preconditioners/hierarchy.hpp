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
  const operators::Operator<T>* a;  ///< on the coarsest level A^-1; null if another process has the level
  std::unique_ptr<operators::Operator<T>> made;
  operators::InverseDiagonal inverse_diagonal;        ///< D^-1; 0 where a block is inverted
  std::unique_ptr<operators::LocalSolves<T>> blocks;  ///< B, for bad cells or a stretched box; else null
  bool smooths_lines = false;                         ///< B solves on the lines of a box, and covers all unknowns
  double largest = 1;                                 ///< eigenvalue of (D^-1 + B) A
  int smoothing = 0;                                  ///< degree of the smoother's polynomial
  int visits = 1;                                     ///< visits by the cycle, per visit of the next finer level
  std::unique_ptr<operators::Transfer<T>> transfer;   ///< to the next coarser level; null on the coarsest

  bool is_elsewhere() const { return a == nullptr; }
  bool is_coarsest() const { return transfer == nullptr; }
  /// Bytes of operator, transfer and smoother; without an operator that is owned elsewhere.
  std::int64_t stored_bytes() const;
};

/// Degree of the next coarser level: 3, 2, 1; from 4 to 3 on simplices, where 2 costs a quarter more iterations, else
/// to 2.
int next_degree(mesh::CellShape shape, int degree);

/// Options for making levels.
struct HierarchyChoice {
  std::string fine = "matrix-free";  ///< operator of levels of degree 2 and more
  std::string coarse = "csr";        ///< operator of stored levels
  int smoothing = 0;                 ///< degree of the smoother's polynomial; 0: 3, and more for stretched cells
  double threshold = 0.45;           ///< for strong connections
  std::int32_t coarsest = 600;       ///< most unknowns of the level that is solved directly
  double most_complexity = 1.6;      ///< most Hierarchy::operator_complexity; levels beyond it are not smoothed
};

/// Data of the finest level that exist already. Collective.
template <std::floating_point T>
struct FinestLevel {
  const operators::Operator<T>* a = nullptr;  ///< its operator; null: one is made
  /// Makes the named operator from an existing one; if empty or if it returns null, the operator is made from the form.
  std::function<std::unique_ptr<operators::Operator<T>>(std::string_view name)> derived = {};
  /// Diagonal of A in the ordering of its operator; if empty, the operator computes it.
  std::function<operators::Vector<T>(const operators::Operator<T>&)> diagonal = {};
  const operators::CsrMatrix<double>* matrix = nullptr;  ///< of a form of degree 1; null: it is assembled
};

/// Levels of a form, finest first. Several processes share the levels by degree and by boxes; the first process has all
/// coarser levels, which on the others are represented by one empty level.
template <std::floating_point T>
struct Hierarchy {
  std::vector<std::unique_ptr<CoarseForm>> forms;  ///< referenced by the operators of the levels
  std::vector<Level<T>> levels;
  double stretching = 1;           ///< of the mesh's cells
  std::size_t shared = 0;          ///< levels that several processes share
  double operator_complexity = 1;  ///< entries of all levels of aggregates over those of the first of them
  int unsmoothed = 0;              ///< levels of aggregates with the tentative prolongation, which has fewer entries
};

/// Makes the levels of a form: by degree (4, 2, 1 or 3, 2, 1 or 2, 1); then by coarser boxes, on several processes down
/// to 100,000 unknowns; then by smoothed aggregation. For a matrix by smoothed aggregation only. Throws InputError if
/// an operator is not positive definite. Collective.
template <std::floating_point T>
Hierarchy<T> make_hierarchy(const operators::CsrMatrix<double>& matrix, operators::Device device,
                            const FinestLevel<T>& finest, const HierarchyChoice& choice);
template <std::floating_point T>
Hierarchy<T> make_hierarchy(const operators::BilinearForm& form, const PartOfForm& of, operators::Device device,
                            const FinestLevel<T>& finest, const HierarchyChoice& choice);

}  // namespace femcg::solver
