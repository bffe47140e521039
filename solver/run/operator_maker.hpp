#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "operators/distributed/distributed_operator.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/case/case.hpp"
#include "solver/messages/run_context.hpp"
#include "solver/problem/memory_estimate.hpp"
#include "solver/problem/problem.hpp"
#include "solver/records/record.hpp"

namespace femcg::solver {

/// The memory estimate's view of an operator in the CG of a problem.
MemoryUser user_of(const SolverChoice& solver, const Problem& problem, operators::Device device,
                   const OperatorChoice& op);

/// Makes operators of a problem, as often as one is asked for, from the same ingredients. The form has one part on one
/// process; on several an interior and an interface part (FormSubdomain), whose operators a DistributedOperator joins.
/// Collective; what fails on one process fails on all.
template <std::floating_point T>
class OperatorMaker {
 public:
  /// All arguments must outlive this. `share` is null on one process; `cores_to_spare` is check_threads. The record has
  /// the device, and gets the seconds.
  OperatorMaker(const Problem& problem, const operators::FormSubdomain* share, const SolverChoice& solver,
                const DistributionChoice& distribution, bool cores_to_spare, const RunContext& context, Record& record);

  OperatorMaker(const OperatorMaker&) = delete;
  OperatorMaker& operator=(const OperatorMaker&) = delete;

  /// Memory of a run with this operator. Throws InputError where its options, or the loop, are not to be had for the
  /// problem.
  MemoryEstimate need_of(const OperatorChoice& op);
  /// Throws operators::OutOfMemory where a machine has too little for all its processes.
  void require(const MemoryEstimate& need, const OperatorChoice& op) const;
  /// True if two operators fit into memory at the same time.
  bool both_fit(const MemoryEstimate& first, const MemoryEstimate& second) const;

  /// Makes what these operators are made from. `reserved_bytes`: operators::Ingredients.
  void assemble(const std::vector<OperatorChoice>& ops, std::int64_t reserved_bytes);
  std::unique_ptr<operators::Operator<T>> make(const OperatorChoice& op);
  /// Another conversion of an operator that was made, with other options. Throws operators::OutOfMemory where there is
  /// no memory for it beside the first, std::invalid_argument where making refuses the options.
  std::unique_ptr<operators::Operator<T>> convert(const OperatorChoice& op, const operators::Operator<T>& first) const;
  /// Frees what operators are made from, but the matrix where that is still wanted.
  void release(bool keeps_matrix);
  bool has_matrix() const { return parts_.front().from.matrix || parts_.back().from.matrix; }
  /// The matrix that a preconditioner of the operator may read; null where there is none, or several processes share
  /// it.
  std::shared_ptr<const operators::CsrMatrix<T>> matrix_to_read() const;

  /// Row lengths of this process's form, where they are counted.
  std::optional<operators::MatrixRows<T>>& rows() { return share_ == nullptr ? parts_.front().rows : rows_; }

 private:
  struct Part {
    const operators::BilinearForm* form;
    std::optional<operators::MatrixRows<T>> rows = {};
    operators::ElementMatrices element_matrices = {};
    operators::Ingredients<T> from = {};
  };
  using Made = std::vector<std::unique_ptr<operators::Operator<T>>>;  ///< one of each part

  /// A process may have no cell at the interface, or none at all.
  bool is_left_out(const Part& part) const { return share_ != nullptr && part.form->unknowns == 0; }
  std::unique_ptr<operators::Operator<T>> joined(Made made, operators::ExchangeMode mode) const;

  const Problem& problem_;
  const operators::FormSubdomain* share_;
  const SolverChoice& solver_;
  const DistributionChoice& distribution_;
  bool cores_to_spare_;
  RunContext context_;
  Record& record_;
  std::vector<Part> parts_;
  std::optional<operators::MatrixRows<T>> rows_;
};

}  // namespace femcg::solver
