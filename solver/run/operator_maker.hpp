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

/// Memory estimate's view of an operator in the CG of a problem.
MemoryUser user_of(const SolverChoice& solver, const Problem& problem, operators::Device device,
                   const OperatorChoice& op);

/// Makes any number of operators of a problem from the same ingredients. The form has one part on one process; on
/// several it has an interior and an interface part (FormSubdomain), whose operators a DistributedOperator combines.
/// Collective: a failure on one process is a failure on all.
template <std::floating_point T>
class OperatorMaker {
 public:
  /// All arguments must outlive this object. `share` is null on one process; `cores_to_spare`: result of check_threads.
  /// The record has the device, and receives the times.
  OperatorMaker(const Problem& problem, const operators::FormSubdomain* share, const SolverChoice& solver,
                const DistributionChoice& distribution, bool cores_to_spare, const RunContext& context, Record& record);

  OperatorMaker(const OperatorMaker&) = delete;
  OperatorMaker& operator=(const OperatorMaker&) = delete;

  /// Memory of a run with this operator. Throws InputError if its options, or the loop, are not possible for the
  /// problem.
  MemoryEstimate need_of(const OperatorChoice& op);
  /// Throws operators::OutOfMemory if a host has too little memory for all its processes.
  void require(const MemoryEstimate& need, const OperatorChoice& op) const;

  /// Makes the ingredients of an operator. `reserved_bytes`: operators::Ingredients.
  void assemble(const OperatorChoice& op, std::int64_t reserved_bytes);
  std::unique_ptr<operators::Operator<T>> make(const OperatorChoice& op);
  /// Another conversion of an existing operator, with other options. Throws operators::OutOfMemory if it does not fit
  /// in memory next to the first, std::invalid_argument if the options are refused.
  std::unique_ptr<operators::Operator<T>> convert(const OperatorChoice& op, const operators::Operator<T>& first) const;
  /// Frees the ingredients of operators, except the matrix if it is still needed.
  void release(bool keeps_matrix);
  bool has_matrix() const { return parts_.front().from.matrix || parts_.back().from.matrix; }
  /// Matrix that a preconditioner of the operator may read; null if there is none, or on several processes.
  std::shared_ptr<const operators::CsrMatrix<T>> matrix_to_read() const;

  /// Row lengths of the form on one process, if counted.
  std::optional<operators::MatrixRows<T>>& rows() { return parts_.front().rows; }

 private:
  struct Part {
    const operators::BilinearForm* form;
    std::optional<operators::MatrixRows<T>> rows = {};
    operators::ElementMatrices element_matrices = {};
    operators::Ingredients<T> from = {};
  };
  using Made = std::vector<std::unique_ptr<operators::Operator<T>>>;  ///< one per part

  /// True for an empty part: a process may have no cell at the interface, or none at all.
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
};

}  // namespace femcg::solver
