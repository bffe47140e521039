#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/case/case.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "solver/prediction/models/model.hpp"
#include "solver/prediction/models/rates.hpp"
#include "solver/problem/memory_estimate.hpp"

namespace femcg::solver {

/// Input of a prediction: a system, and the CG that solves it.
struct PredictionInput {
  operators::Device device = operators::Device::host;
  const operators::BilinearForm* form = nullptr;  ///< null for a matrix from a file
  const PreconditionerDescription* preconditioner = nullptr;
  CgMethod method = CgMethod::automatic;
  CgLoop loop = CgLoop::automatic;
  std::int64_t systems = 1;  ///< right-hand sides
  double iterations = 0;     ///< that CG may take for each of them; 0: a product is all that is wanted
  /// Bytes that there are on a device (operators::available_bytes).
  std::function<std::int64_t(operators::Device)> available;
};

/// How a sentence begins that says an operator does not fit into memory.
constexpr std::string_view lacks_memory = "it needs about ";

/// Predicted times of an operator.
struct Prediction {
  OperatorChoice op;
  operators::Needs needs = operators::Needs::form;
  std::string not_possible;   ///< why it cannot be had; then there are no seconds
  double product = 0;         ///< seconds of one product
  double iteration = 0;       ///< of one CG iteration, of all systems where it takes them at once
  double preconditioner = 0;  ///< of multigrid's cycles in one iteration, of as many systems; 0 for others
  double product_start = 0;   ///< of the product's seconds, those that it takes however small it is
  double passes_start = 0;    ///< the same of what an iteration takes beside the product
  double loops = 0;           ///< iterations, of all systems that are solved in turn
  double assembly = 0;        ///< seconds until what it is made from is there
  double conversion = 0;      ///< seconds to make it from that
  std::int64_t stored_bytes = 0;
  bool persistent = false;  ///< CG is a persistent kernel, which no trial can be a part of

  bool possible() const { return not_possible.empty(); }
  double set_up() const { return assembly + conversion; }
  /// Until the solution is there, the mesh and the load apart.
  double seconds() const { return set_up() + loops * (iteration + preconditioner); }
};

/// Every operator of femcg's own that has a version for the device, with its defaults. No model knows a plug-in's.
std::vector<OperatorChoice> all_operators_of(operators::Device device);

/// An operator with its options, as "csr, coop 16".
std::string with_options(const OperatorChoice& op);

/// True if a matrix may pay: assembling it and reading it in every iteration takes no longer than the best operator
/// without a matrix may.
bool may_assemble(const PredictionInput& of, int word_bytes, const std::vector<Prediction>& without,
                  const Rates& rates);

/// Each of the operators. `rows` are the matrix's where a form's are counted, `matrix` is that of a file; both null:
/// operators that need a matrix are left out.
template <std::floating_point T>
std::vector<Prediction> predict(const PredictionInput& of, const std::vector<OperatorChoice>& operators,
                                const operators::MatrixRows<T>* rows, const operators::CsrMatrix<T>* matrix,
                                const Model& model, const Rates& rates);

/// The same for a form: the rows are counted where an operator needs them and they are not there.
template <std::floating_point T>
std::vector<Prediction> predict(const PredictionInput& of, const std::vector<OperatorChoice>& operators,
                                const Model& model, const Rates& rates, std::optional<operators::MatrixRows<T>>& rows);

/// And for the operators of a device that may be the fastest: with multigrid from degree 2 on, matrix-free and
/// matrices; else all. The rows are counted where they may matter.
template <std::floating_point T>
std::vector<Prediction> predict_all(const PredictionInput& of, const Model& model, const Rates& rates,
                                    std::optional<operators::MatrixRows<T>>& rows);

/// A table for a person: product, iteration, set-up, time to solution, by ascending time. Each line begins with
/// `start`.
std::string to_text(const std::vector<Prediction>& predictions, const std::string& start,
                    std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace femcg::solver
