#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <vector>

#include "operators/catalogue.hpp"
#include "operators/transfers/local_solves.hpp"
#include "operators/transfers/transfer.hpp"
#include "solver/preconditioners/coarse_form.hpp"

namespace femcg::solver {

/// A level of multigrid: its operator, what its smoother knows of it, the transfer to the next coarser level, and the
/// vectors of a cycle.
template <std::floating_point T>
struct Level {
  std::string kind;                 ///< "degree 2", "box", "aggregates", "inverse"
  std::string operator_name;        ///< in the catalogue
  const operators::Operator<T>* a;  ///< on the coarsest level A^-1
  std::unique_ptr<operators::Operator<T>> made;
  operators::InverseDiagonal inverse_diagonal;        ///< D^-1, 0 where a block is inverted
  std::unique_ptr<operators::LocalSolves<T>> blocks;  ///< B, where cells are bad; null where none are
  double largest = 1;                                 ///< eigenvalue of (D^-1 + B) A
  std::unique_ptr<operators::Transfer<T>> transfer;   ///< to the next level; none on the coarsest
  mutable operators::Vector<T> b, x, q, d;            ///< A x = b; q = A x; d: the smoother's step

  bool is_coarsest() const { return transfer == nullptr; }
  /// Operator, transfer, smoother and vectors; not an operator that is somebody else's.
  std::int64_t stored_bytes() const;
};

/// How levels are made.
struct HierarchyChoice {
  std::string fine = "matrix-free";  ///< operator of levels of degree 2 and more
  std::string coarse = "csr";        ///< operator of stored levels
  double threshold = 0.25;           ///< of strong connections
  std::int32_t coarsest = 600;       ///< the most unknowns of the level that is solved directly
};

/// The levels of a form, the finest first. On one process.
template <std::floating_point T>
struct Hierarchy {
  std::vector<std::unique_ptr<CoarseForm>> forms;  ///< that operators of the levels refer to
  std::vector<Level<T>> levels;
  double operator_complexity = 1;  ///< entries of all levels of aggregates over those of the first of them
};

/// By degree (4, 2, 1 or 3, 2, 1 or 2, 1), then by boxes with half as many cells, then by smoothed aggregation. `fine`,
/// in precision T, serves as the finest level's operator where it is not null. Throws InputError where an operator is
/// not positive definite.
template <std::floating_point T>
Hierarchy<T> make_hierarchy(const operators::BilinearForm& form, operators::Device device,
                            const operators::Operator<T>* fine, const HierarchyChoice& choice);

}  // namespace femcg::solver
