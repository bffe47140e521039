#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/prediction/models/trained_model.hpp"
#include "solver/prediction/prediction.hpp"

namespace femcg::solver {

/// A measured product of one operator.
struct MeasuredProduct {
  /// Least time of the repetitions, each the mean of several products in sequence; other programs can only add time. 0
  /// if the operator is not possible.
  double seconds = 0;
  bool refused = false;  ///< other programs used the processors
};

/// Makes the possible operators and times their products, interleaved; results are in the order of `operators`.
template <std::floating_point T>
std::vector<MeasuredProduct> measure_products(const std::shared_ptr<const operators::CsrMatrix<T>>& matrix,
                                              const std::vector<Prediction>& operators, operators::Device device,
                                              int repetitions);

struct TrainingSettings {
  operators::Device device = operators::Device::host;
  double seconds = 75;  ///< limit for measuring
  std::vector<Precision> precisions{Precision::double_, Precision::single};
  /// Called before each matrix with its name; false once the user wants to stop.
  std::function<bool(const std::string& next)> go_on;
  /// Polled while a box is measured.
  std::function<bool()> stop = [] { return false; };
};

/// Model of each precision, with the number of measured matrices.
struct Trained {
  Precision precision;
  TrainedModel model;
  int matrices = 0;
  int refused = 0;  ///< measurements discarded because other programs used the processors
};

/// Measures as many benchmark matrices (benchmark_matrices.hpp) as time allows, and fits. Throws MachineError if they
/// are too few for a fit.
std::vector<Trained> train(const TrainingSettings& settings, const Rates& rates);

/// Bytes of the largest benchmark matrix in CSR.
double most_training_bytes(operators::Device device);

}  // namespace femcg::solver
