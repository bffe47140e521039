#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/prediction/models/trained_model.hpp"
#include "solver/prediction/prediction.hpp"

namespace femcg::solver {

/// A product of one operator that was measured.
struct MeasuredProduct {
  /// The least of the repetitions, each the mean of some products in a row, since what other programs take of the
  /// machine is only ever added; 0 where it cannot be had.
  double seconds = 0;
  bool refused = false;  ///< other programs took the processor
};

/// Makes the operators that are possible and times their products in turn, place by place.
template <std::floating_point T>
std::vector<MeasuredProduct> measure_products(const std::shared_ptr<const operators::CsrMatrix<T>>& matrix,
                                              const std::vector<Prediction>& operators, operators::Device device,
                                              int repetitions);

struct TrainingSettings {
  operators::Device device = operators::Device::host;
  double seconds = 75;  ///< that measuring may take
  std::vector<Precision> precisions{Precision::double_, Precision::single};
  /// Told before each matrix what comes next; false once the user wants to stop.
  std::function<bool(const std::string& next)> go_on;
  /// Asked while a box is measured.
  std::function<bool()> stop = [] { return false; };
};

/// A model for each precision, and how many matrices were measured for it.
struct Trained {
  Precision precision;
  TrainedModel model;
  int matrices = 0;
  int refused = 0;  ///< measurements that were left out, since other programs took the processor
};

/// Measures benchmark matrices (benchmark_matrices.hpp), as many as there is time for, and fits. Throws MachineError
/// where they are too few to fit anything.
std::vector<Trained> train(const TrainingSettings& settings, const Rates& rates);

/// Largest benchmark matrix, in bytes of compressed rows.
double most_training_bytes(operators::Device device);

}  // namespace femcg::solver
