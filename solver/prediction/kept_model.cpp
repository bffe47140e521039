#include "solver/prediction/kept_model.hpp"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "mesh/atomic_file.hpp"
#include "solver/benchmark/kept_bandwidth.hpp"
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

/// None where there is no file; what is no object where it is damaged.
std::optional<ordered_json> kept_models(const fs::path& path) try {
  if (path.empty() || !fs::exists(path)) return std::nullopt;
  std::ifstream file(path);
  return ordered_json::parse(file, nullptr, false);
} catch (const std::exception&) {  // a folder, or a disk that fails
  return ordered_json();
}

std::string damaged(const fs::path& path) {
  return fmt::format("the trained model in {} is damaged and left aside; femcg predict --train makes it anew",
                     in_quotes(path.string()));
}

}  // namespace

fs::path trained_models_file() { return kept_file("trained_models.json"); }

KeptModel kept_model(Device device, Precision precision) {
  const fs::path path = trained_models_file();
  const std::optional<ordered_json> all = kept_models(path);
  if (!all) return {};
  if (!all->is_object() || all->empty()) return {std::nullopt, damaged(path)};
  const std::string key = key_of(device, precision);
  const auto found = all->find(key);
  if (found == all->end())
    return {std::nullopt, fmt::format("the trained model that is kept is of something else ({}) and left aside; femcg "
                                      "predict --train makes one of this device ({})",
                                      all->begin().key(), key)};
  try {
    return {TrainedModel::from_json(*found, device, precision == Precision::double_ ? 8 : 4), ""};
  } catch (const std::exception&) {
    return {std::nullopt, damaged(path)};
  }
}

std::string keep_model(const TrainedModel& model, Device device, Precision precision) {
  const fs::path path = trained_models_file();
  if (path.empty()) return "the trained model is not kept: there is no home folder to keep it in";
  try {
    ordered_json all = kept_models(path).value_or(ordered_json::object());
    if (!all.is_object()) all = ordered_json::object();
    all[key_of(device, precision)] = model.to_json();
    fs::create_directories(path.parent_path());
    mesh::write_atomically(path, all.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
    return "";
  } catch (const std::exception&) {
    return fmt::format("the trained model is not kept: {} cannot be written", in_quotes(path.string()));
  }
}

}  // namespace femcg::solver
