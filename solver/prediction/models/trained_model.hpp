#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "solver/case/case.hpp"
#include "solver/prediction/models/model.hpp"
#include "solver/prediction/models/product_features.hpp"
#include "solver/prediction/models/regression.hpp"

namespace femcg::solver {

/// Operators of Wang, Gu & Li 2017: on a GPU csr-v (16 threads per row), csr-s (one thread), ellpack and jad; on the
/// processor csr, ellpack and jad.
std::vector<OperatorChoice> trained_operators(operators::Device device);

/// Measured time of one product.
struct TrainingPoint {
  ProductFeatures features;
  double seconds = 0;
  bool refused = false;  ///< other programs used the processors meanwhile
};

/// Fitted times of one operator. Wang, Gu & Li (2017, section 3.2) model T = (A I + B) P + (C I + D) with the number of
/// rows I and their length P. Here the same terms are sums over the actual rows,
///
///   T0 = c0 + c1 rows + c2 irregular rows + c3 repeated x + sum of c_j terms
///
/// with terms in bytes, lines of x by steps and by blocks, steps, and steps of the longest row, each with one
/// coefficient for data from memory and one for cached data. c >= 0 minimises the squared relative errors, and the
/// remainder, log(T / T0), is interpolated between the benchmark matrices (Kriging), since caches and irregular rows
/// and columns make it nonlinear.
struct TrainedTimes {
  std::string name;
  operators::Options options;
  std::vector<TrainingPoint> points;
  std::vector<double> coefficients;
  Kriging correction;
  double left_out_error = 0;  ///< mean |predicted - measured| / measured, each matrix predicted from the others

  double seconds(const ProductFeatures& features, operators::Device device, int word_bytes) const;
};

/// A model trained on this device, in one precision, for products with one vector.
class TrainedModel final : public Model {
 public:
  TrainedModel(operators::Device device, int word_bytes) : device_(device), word_bytes_(word_bytes) {}

  /// Fits an operator. Throws std::invalid_argument for fewer than eight points.
  void add(const OperatorChoice& op, const std::vector<TrainingPoint>& points);
  std::optional<double> seconds(const Product& product) const override;
  const std::vector<TrainedTimes>& operators() const { return times_; }

  nlohmann::ordered_json to_json() const;
  /// Throws std::exception unless `json` was made by to_json().
  static TrainedModel from_json(const nlohmann::ordered_json& json, operators::Device device, int word_bytes);

 private:
  operators::Device device_;
  int word_bytes_;
  std::vector<TrainedTimes> times_;
};

/// Traversal of the rows by an operator's threads.
RowSteps steps_of(const std::string& name, const operators::Options& options, operators::Device device);

}  // namespace femcg::solver
