#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "solver/case/case.hpp"
#include "solver/messages/console.hpp"
#include "solver/messages/error.hpp"
#include "solver/run/run.hpp"

namespace femcg::solver {

/// Arguments of `femcg predict` in addition to the problem.
struct PredictChoice {
  std::vector<OperatorChoice> operators;  ///< empty: all
  std::string device = "auto";
  std::optional<int> right_hand_sides;  ///< at once; absent: the number of a case's loads, for a matrix 1
  bool measure = false;                 ///< also measure
};

/// Arguments of `femcg predict --train`.
struct TrainChoice {
  std::string device = "auto";
  std::vector<Precision> precisions{Precision::double_, Precision::single};
  double seconds = 75;  ///< limit for measuring
};

/// `femcg predict --train`: measures benchmark matrices on this device, fits the times of csr (with 16 threads per row
/// and one, on a GPU), ellpack and jad to them (Wang, Gu & Li 2017), and caches the model for later predictions. Prints
/// the model's errors.
ExitStatus train(const TrainChoice& choice, const Console& console, const StopRequested& stop);

/// `femcg predict CASE.yaml`: times of operators for a case as predicted by the bandwidth model: a product, a CG
/// iteration, the set-up, and the whole solution; the choice of auto; if asked for, also measured times and the
/// difference rate |predicted - measured| / measured (Wang, Gu & Li 2017, eq. 7); and the predictions of a model
/// trained on the device, if there is one. Prints tables, writes no files.
ExitStatus predict(const Case& resolved, const PredictChoice& choice, const Console& console,
                   const StopRequested& stop);

/// The same for a matrix from a file, in one precision; without a prediction of CG's set-up.
ExitStatus predict_matrix(const std::filesystem::path& file, Precision precision, const PredictChoice& choice,
                          const Console& console, const StopRequested& stop);

}  // namespace femcg::solver
