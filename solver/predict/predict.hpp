#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "solver/case/case.hpp"
#include "solver/messages/console.hpp"
#include "solver/messages/error.hpp"
#include "solver/run/run.hpp"

namespace femcg::solver {

/// What `femcg predict` is asked for, beside the problem.
struct PredictChoice {
  std::vector<OperatorChoice> operators;  ///< empty: all
  std::string device = "auto";
  std::optional<int> right_hand_sides;  ///< at once; absent: as many as a case has loads, of a matrix one
  bool measure = false;                 ///< beside what is predicted
};

/// What `femcg predict --train` is asked for.
struct TrainChoice {
  std::string device = "auto";
  std::vector<Precision> precisions{Precision::double_, Precision::single};
  double seconds = 75;  ///< that measuring may take
};

/// `femcg predict --train`: measures benchmark matrices on this device, fits the times of csr (16 threads a row and
/// one, on a GPU), ellpack and jad to them (Wang, Gu & Li 2017), and keeps the model for later predictions. Says how
/// far the model is off.
ExitStatus train(const TrainChoice& choice, const Console& console, const StopRequested& stop);

/// `femcg predict CASE.yaml`: what operators are expected to take for a case, by the bandwidth model: a product, a CG
/// iteration, the set-up, and all until the solution; what auto would take; where asked for, beside the measured times
/// and the difference rate |predicted - measured| / measured (Wang, Gu & Li 2017, eq. 7). Where a model was trained on
/// the device, what that expects beside it. Prints tables, writes nothing.
ExitStatus predict(const Case& resolved, const PredictChoice& choice, const Console& console,
                   const StopRequested& stop);

/// The same for a matrix from a file, in one precision; nothing is expected of CG's set-up there.
ExitStatus predict_matrix(const std::filesystem::path& file, Precision precision, const PredictChoice& choice,
                          const Console& console, const StopRequested& stop);

}  // namespace femcg::solver
