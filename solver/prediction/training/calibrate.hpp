#pragma once

#include "solver/prediction/models/calibration.hpp"
#include "solver/prediction/models/rates.hpp"
#include "solver/prediction/training/training.hpp"

namespace femcg::solver {

/// What the bandwidth model is off by on this device: makes and times every operator, with CG round it, on small boxes
/// of every shape and degree, of identical cells and of distorted ones, by ascending size for as long as there is time,
/// and holds that against what the model says without a calibration.
struct Calibrated {
  Calibration calibration;
  int boxes = 0;  ///< that were measured
};
Calibrated calibrate(const TrainingSettings& settings, Rates rates);

}  // namespace femcg::solver
