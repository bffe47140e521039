#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "solver/prediction/models/calibration.hpp"
#include "solver/prediction/models/trained_model.hpp"

namespace femcg::solver {

/// Where trained models are kept from one run to the next, beside the speeds of the machine: {"<version, device,
/// threads, precision>": model, ...}. Empty where the user has no folder for such.
std::filesystem::path trained_models_file();

/// What is kept for this device, number of threads, precision and version of femcg. Where there is something else, or
/// it cannot be read, a remark says so in one sentence.
struct KeptModel {
  std::optional<TrainedModel> model;
  std::string remark;
};
KeptModel kept_model(operators::Device device, Precision precision);

/// Keeps it. A sentence where that cannot be done, else empty.
std::string keep_model(const TrainedModel& model, operators::Device device, Precision precision);

/// The same for corrections of the bandwidth model, {"<version, device, threads, registers>, calibration": ...} in the
/// same file. There is no remark where only another kind of device has some.
struct KeptCalibration {
  Calibration calibration;
  std::string remark;
};
KeptCalibration kept_calibration(operators::Device device);
std::string keep_calibration(const Calibration& calibration, operators::Device device);

}  // namespace femcg::solver
