#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "solver/prediction/models/calibration.hpp"
#include "solver/prediction/models/trained_model.hpp"

namespace femcg::solver {

/// File of the trained models, cached from run to run beside the measured speeds: {"<version, device, threads,
/// precision>": model, ...}. Empty where the user has no folder for such.
std::filesystem::path trained_models_file();

/// The cached model of this device, number of threads, precision and version of femcg. Where the file has another, or
/// cannot be read, `warning` says so in one sentence.
struct CachedModel {
  std::optional<TrainedModel> model;
  std::string warning;
};
CachedModel cached_model(operators::Device device, Precision precision);

/// Keeps it. A sentence where that cannot be done, else empty.
std::string cache_model(const TrainedModel& model, operators::Device device, Precision precision);

/// The same for corrections of the bandwidth model, {"<version, device, threads, registers>, calibration": ...} in the
/// same file. There is no warning where only another kind of device has some.
struct CachedCalibration {
  Calibration calibration;
  std::string warning;
};
CachedCalibration cached_calibration(operators::Device device);
std::string cache_calibration(const Calibration& calibration, operators::Device device);

}  // namespace femcg::solver
