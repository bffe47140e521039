#pragma once

// Seconds without trying: what an operator will take for a problem, before anything is made. A Model says the seconds
// of one product from what the estimate of an operator tells of it (operators::StorageEstimate): bytes, operations, the
// lengths of rows. The bandwidth model (bandwidth_model.hpp) needs no training; one that was trained on this device may
// stand in its place. prediction.hpp adds what making the operator takes, what CG moves beside the product and how many
// iterations there may be; choice.hpp takes from that what `operator: auto` and `device: auto` decide, and
// timing_trial.hpp has the two best operators multiply within CG's first iterations, where the prediction leaves it
// open.

#include <optional>
#include <span>

#include "operators/catalogue.hpp"
#include "operators/footprint.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::solver {

/// A product that somebody wants to know the seconds of.
struct Product {
  const operators::OperatorDescription* row = nullptr;
  const operators::Options* options = nullptr;
  operators::Device device = operators::Device::host;
  int word_bytes = 8;  ///< of the vectors
  const operators::StorageEstimate* estimate = nullptr;
  const operators::BilinearForm* form = nullptr;   ///< null for a matrix from a file
  std::span<const std::int64_t> row_offsets = {};  ///< of the matrix; empty where the operator needs none
  std::int64_t longest_row = 0;                    ///< entries of it
  std::span<const std::int32_t> columns = {};      ///< of a matrix from a file
  double input_bytes = 0;    ///< of x that come from memory, at least all of it once (input_bytes.hpp)
  bool narrow = false;       ///< whether columns of 16 bits are expected to fit
  int right_hand_sides = 1;  ///< at once

  std::int64_t unknowns() const {
    return form != nullptr ? form->unknowns : static_cast<std::int64_t>(row_offsets.size()) - 1;
  }
};

class Model {
 public:
  virtual ~Model() = default;
  /// Seconds of one product with all right-hand sides; none where the model has nothing to say on it.
  virtual std::optional<double> seconds(const Product& product) const = 0;
  /// The part of these seconds that a product of this kind takes however small it is; 0 where the model does not tell.
  virtual double start(const Product&) const { return 0; }
};

}  // namespace femcg::solver
