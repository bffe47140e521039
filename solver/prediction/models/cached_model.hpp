#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "solver/prediction/models/calibration.hpp"
#include "solver/prediction/models/trained_model.hpp"

namespace femcg::solver {

/// File of the trained models, cached next to the measured rates: {"<version, device, threads, precision>": model,
/// ...}. Empty if the user has no cache folder.
std::filesystem::path trained_models_file();

/// Cached model of this device, number of threads, precision and version of femcg. `warning` is a sentence if the file
/// has only another one, or cannot be read.
struct CachedModel {
  std::optional<TrainedModel> model;
  std::string warning;
};
CachedModel cached_model(operators::Device device, Precision precision);

/// Caches a model; returns a warning if that fails, else "".
std::string cache_model(const TrainedModel& model, operators::Device device, Precision precision);

/// The same for corrections of the bandwidth model, {"<version, device, threads, registers>, calibration": ...} in the
/// same file. No warning if only another kind of device has a calibration.
struct CachedCalibration {
  Calibration calibration;
  std::string warning;
};
CachedCalibration cached_calibration(operators::Device device);
std::string cache_calibration(const Calibration& calibration, operators::Device device);

}  // namespace femcg::solver
