#include "solver/prediction/models/cached_model.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "mesh/base/vector_register.hpp"
#include "solver/benchmark/cached_bandwidth.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/problem/cache_folder.hpp"

namespace femcg::solver {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using operators::Device;

std::string key_of(Device device, Precision precision) {
  return fmt::format("{}, {} precision", femcg::solver::key_of(device), name(precision));
}

/// Cached models; empty if there is no file, not an object if the file is damaged.
std::optional<ordered_json> cached_models(const fs::path& path) try {
  if (path.empty() || !fs::exists(fs::symlink_status(path))) return std::nullopt;
  return ordered_json::parse(cached_content(path).value(), nullptr, false);
} catch (const std::exception&) {  // a folder, or a disk that fails
  return ordered_json();
}

constexpr std::string_view of_calibration = ", calibration";
/// Version of the bandwidth model that a calibration corrects; to be changed with its constants.
constexpr int model_number = 2;

bool is_calibration(const std::string& key) { return key.find(of_calibration) != std::string::npos; }

std::string key_of_calibration(Device device) {
  return femcg::solver::key_of(device) +
         (device == Device::host ? fmt::format(", registers of {} bytes", mesh::register_bytes) : "") +
         fmt::format("{} {}", of_calibration, model_number);
}

/// Caches a model; returns a warning if that fails, else "".
std::string keep(const std::string& key, const ordered_json& model) {
  const fs::path path = trained_models_file();
  if (path.empty()) return "the trained model is not stored: there is no home folder";
  try {
    ordered_json all = cached_models(path).value_or(ordered_json::object());
    if (!all.is_object()) all = ordered_json::object();
    all[key] = model;
    write_cached(path, all.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
    return "";
  } catch (const std::exception&) {
    return fmt::format("the trained model is not stored: {} cannot be written", in_quotes(path.string()));
  }
}

/// First key that meets the condition, else empty.
template <class Condition>
std::string first_key(const ordered_json& all, const Condition& holds) {
  for (const auto& [key, value] : all.items())
    if (holds(key)) return key;
  return "";
}

std::string of_something_else(std::string_view what, const std::string& other, const std::string& key) {
  return fmt::format(
      "the stored {} is ignored, since it was made for another setting ({}); femcg predict --train makes one for this "
      "one ({})",
      what, other, key);
}

std::string damaged(const fs::path& path) {
  return fmt::format("the trained model in {} is ignored: it is damaged; femcg predict --train makes a new one",
                     in_quotes(path.string()));
}

}  // namespace

fs::path trained_models_file() { return cached_file("trained_models.json"); }

CachedModel cached_model(Device device, Precision precision) {
  const fs::path path = trained_models_file();
  const std::optional<ordered_json> all = cached_models(path);
  if (!all) return {};
  if (!all->is_object() || all->empty()) return {std::nullopt, damaged(path)};
  const std::string key = key_of(device, precision);
  const auto found = all->find(key);
  if (found == all->end()) {
    const std::string other = first_key(*all, [](const std::string& each) { return !is_calibration(each); });
    return {std::nullopt, other.empty() ? "" : of_something_else("trained model", other, key)};
  }
  try {
    return {TrainedModel::from_json(*found, device, precision == Precision::double_ ? 8 : 4), ""};
  } catch (const std::exception&) {
    return {std::nullopt, damaged(path)};
  }
}

std::string cache_model(const TrainedModel& model, Device device, Precision precision) {
  return keep(key_of(device, precision), model.to_json());
}

CachedCalibration cached_calibration(Device device) {
  const fs::path path = trained_models_file();
  const std::optional<ordered_json> all = cached_models(path);
  if (!all) return {};
  if (!all->is_object()) return {{}, damaged(path)};
  const std::string key = key_of_calibration(device), kind = device == Device::cuda ? ", GPU" : " threads";
  const auto found = all->find(key);
  if (found != all->end()) try {
      return {Calibration::from_json(*found), ""};
    } catch (const std::exception&) {
      return {{}, damaged(path)};
    }
  const std::string other = first_key(
      *all, [&](const std::string& each) { return is_calibration(each) && each.find(kind) != std::string::npos; });
  return {{}, other.empty() ? "" : of_something_else("calibration", other, key)};
}

std::string cache_calibration(const Calibration& calibration, Device device) {
  return keep(key_of_calibration(device), calibration.to_json());
}

}  // namespace femcg::solver
