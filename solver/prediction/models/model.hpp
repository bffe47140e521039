#pragma once

// Prediction without trial runs: the time of an operator for a problem, before anything is made. A Model predicts the
// seconds of one product from the operator's estimate (operators::StorageEstimate): bytes, operations, row lengths. The
// bandwidth model (bandwidth_model.hpp) needs no training; a model trained on this device can replace it.
// prediction.hpp adds the time to make the operator, CG's other traffic and the number of iterations. `operator: auto`
// does not depend on it: choice.hpp has its rule.

#include <optional>
#include <span>

#include "operators/catalogue.hpp"
#include "operators/footprint.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::solver {

/// A product whose time is to be predicted.
struct Product {
  const operators::OperatorDescription* row = nullptr;
  const operators::Options* options = nullptr;
  operators::Device device = operators::Device::host;
  int word_bytes = 8;  ///< of the vectors
  const operators::StorageEstimate* estimate = nullptr;
  const operators::BilinearForm* form = nullptr;   ///< null for a matrix from a file
  std::span<const std::int64_t> row_offsets = {};  ///< of the matrix; empty if the operator needs none
  std::int64_t longest_row = 0;                    ///< number of its entries
  std::span<const std::int32_t> columns = {};      ///< of a matrix from a file
  double input_bytes = 0;    ///< bytes of x read from memory, at least all of x once (input_bytes.hpp)
  bool narrow = false;       ///< true if 16-bit columns are expected to suffice
  int right_hand_sides = 1;  ///< at once

  std::int64_t unknowns() const {
    return form != nullptr ? form->unknowns : static_cast<std::int64_t>(row_offsets.size()) - 1;
  }
};

class Model {
 public:
  virtual ~Model() = default;
  /// Seconds of one product with all right-hand sides; empty if the model does not cover the product.
  virtual std::optional<double> seconds(const Product& product) const = 0;
  /// Size-independent part of these seconds; 0 if the model does not tell.
  virtual double start(const Product&) const { return 0; }
};

}  // namespace femcg::solver
