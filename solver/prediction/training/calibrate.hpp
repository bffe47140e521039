#pragma once

#include "solver/prediction/models/calibration.hpp"
#include "solver/prediction/models/rates.hpp"
#include "solver/prediction/training/training.hpp"

namespace femcg::solver {

/// Error of the bandwidth model on this device: makes and times every operator, with CG, on small boxes of every shape
/// and degree, with congruent and with distorted cells, by ascending size within the time limit, and compares the times
/// with the uncalibrated model.
struct Calibrated {
  Calibration calibration;
  int boxes = 0;     ///< number of measured boxes
  int left_out = 0;  ///< number of measurements during which other programs took the processor
};
Calibrated calibrate(const TrainingSettings& settings, Rates rates);

}  // namespace femcg::solver
