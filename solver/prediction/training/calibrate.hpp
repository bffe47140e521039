#pragma once

#include "solver/prediction/models/calibration.hpp"
#include "solver/prediction/models/rates.hpp"
#include "solver/prediction/training/training.hpp"

namespace femcg::solver {

/// Error of the bandwidth model on this device: makes and times every operator, with CG, on small boxes of every shape
/// and degree, of congruent and of distorted cells, by ascending size for as long as there is time, and compares with
/// the model without a calibration.
struct Calibrated {
  Calibration calibration;
  int boxes = 0;  ///< that were measured
};
Calibrated calibrate(const TrainingSettings& settings, Rates rates);

}  // namespace femcg::solver
