#pragma once

#include <functional>
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
  double iterations = 0;     ///< of CG, for each of them; 0: products only
  /// Available bytes of a device (operators::available_bytes).
  std::function<std::int64_t(operators::Device)> available = {};
};

/// Predicted times of an operator.
struct Prediction {
  OperatorChoice op;
  operators::Needs needs = operators::Needs::form;
  std::string not_possible;   ///< why the operator is not possible; it then has no times
  double product = 0;         ///< seconds of one product
  double iteration = 0;       ///< seconds of one CG iteration, for all systems if it takes them at once
  double preconditioner = 0;  ///< seconds of multigrid's cycles in one iteration, for as many systems; 0 for others
  double product_start = 0;   ///< size-independent part of the product's seconds
  double passes_start = 0;    ///< the same for the vector kernels of an iteration
  double loops = 0;           ///< iterations, summed over systems that are solved one after the other
  double assembly = 0;        ///< seconds until its ingredients are made
  double conversion = 0;      ///< seconds to make the operator from its ingredients
  std::int64_t stored_bytes = 0;
  bool persistent = false;  ///< CG runs in a persistent kernel

  bool possible() const { return not_possible.empty(); }
  double set_up() const { return assembly + conversion; }
  /// Seconds to the solution, without mesh and load.
  double seconds() const { return set_up() + loops * (iteration + preconditioner); }
};

/// All operators of femcg with a version for the device, with default options. Models do not cover plug-ins.
std::vector<OperatorChoice> all_operators_of(operators::Device device);

/// An operator with its options as text: "csr, coop 16".
std::string with_options(const OperatorChoice& op);

/// Predictions for the given operators. `rows`: those of a form's matrix, if counted; `matrix`: that of a file. If both
/// are null, operators that need a matrix are omitted.
template <std::floating_point T>
std::vector<Prediction> predict(const PredictionInput& of, const std::vector<OperatorChoice>& operators,
                                const operators::MatrixRows<T>* rows, const operators::CsrMatrix<T>* matrix,
                                const Model& model, const Rates& rates);

/// The same for a form: counts the rows if an operator needs them and `rows` is empty.
template <std::floating_point T>
std::vector<Prediction> predict(const PredictionInput& of, const std::vector<OperatorChoice>& operators,
                                const Model& model, const Rates& rates, std::optional<operators::MatrixRows<T>>& rows);

/// Table of product, iteration, set-up and time to solution, by ascending time. Each line begins with `start`.
std::string to_text(const std::vector<Prediction>& predictions, const std::string& start);

}  // namespace femcg::solver
