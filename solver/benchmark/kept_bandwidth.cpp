#include "solver/benchmark/kept_bandwidth.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "mesh/atomic_file.hpp"
#include "solver/benchmark/processor_time.hpp"

namespace femcg::solver {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string key_of(operators::Device device) {
  const int threads = this_machine().threads;
  return fmt::format("femcg {}, {}, {}", FEMCG_VERSION, device_name(device),
                     device == operators::Device::host ? fmt::format("{} threads", threads) : "GPU");
}

/// {"<version, device, threads>": bytes per second, ...}; an empty object where there is no such file.
json kept() try {
  std::ifstream file(bandwidth_file());
  json all = json::parse(file, nullptr, false);
  return all.is_object() ? all : json::object();
} catch (const std::ios_base::failure&) {  // a folder, or a disk that fails
  return json::object();
}

void keep(operators::Device device, double bytes_per_second) try {
  const fs::path file = bandwidth_file();
  if (file.empty()) return;
  json all = kept();
  all[key_of(device)] = bytes_per_second;
  fs::create_directories(file.parent_path());
  mesh::write_atomically(file, all.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
} catch (const std::exception&) {  // then the next run measures it again
}

}  // namespace

fs::path bandwidth_file() {
  const auto absolute = [](const char* variable) {
    const char* value = std::getenv(variable);
    const fs::path path = value != nullptr ? value : "";
    return path.is_absolute() ? path : fs::path();
  };
  fs::path folder = absolute("XDG_CACHE_HOME");
  if (folder.empty() && !absolute("HOME").empty()) folder = absolute("HOME") / ".cache";
  return folder.empty() ? folder : folder / "femcg" / "copy_bandwidth.json";
}

std::optional<double> kept_copy_bandwidth(operators::Device device) {
  const json all = kept();
  const auto found = all.find(key_of(device));
  if (found == all.end() || !found->is_number()) return std::nullopt;
  const double bytes_per_second = found->get<double>();
  return std::isfinite(bytes_per_second) && bytes_per_second > 0 ? std::optional(bytes_per_second) : std::nullopt;
}

CopyBandwidth renewed_copy_bandwidth(operators::Device device, bool asked_for) {
  const ProcessorTime before = processor_time();
  CopyBandwidth measured = measure_copy_bandwidth(device);
  const bool refused =
      device == operators::Device::host && was_refused(processor_time() - before, this_machine().threads);
  if (measured.bytes_per_second > 0 && (asked_for || !refused)) keep(device, measured.bytes_per_second);
  return measured;
}

CopyBandwidth copy_bandwidth_of(operators::Device device) {
  if (const auto bytes_per_second = kept_copy_bandwidth(device)) return {*bytes_per_second, ""};
  return renewed_copy_bandwidth(device);
}

}  // namespace femcg::solver
