#include "solver/benchmark/cached_bandwidth.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "operators/backend/copy_bandwidth.hpp"
#include "solver/benchmark/processor_time.hpp"
#include "solver/messages/refusal.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/problem/cache_folder.hpp"

namespace femcg::solver {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Cached rates {"<version, device, threads>": bytes per second, ...}; an empty object if there is no valid file.
json kept() {
  const auto content = cached_content(bandwidth_file());
  json all = content ? json::parse(*content, nullptr, false) : json();
  return all.is_object() ? all : json::object();
}

std::optional<double> cached_number(const std::string& key) {
  const json all = kept();
  const auto found = all.find(key);
  if (found == all.end() || !found->is_number()) return std::nullopt;
  const double number = found->get<double>();
  return std::isfinite(number) && number > 0 ? std::optional(number) : std::nullopt;
}

/// Caches a rate; returns a warning if that fails (the next run then measures again), else "".
std::string keep(const std::string& key, double number) {
  const fs::path file = bandwidth_file();
  if (file.empty()) return "speeds of the machine are measured in every run: there is no home folder to keep them in";
  try {
    json all = kept();
    all[key] = number;
    write_cached(file, all.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
    return "";
  } catch (const std::exception&) {
    return fmt::format("speeds of the machine are measured in every run: {} cannot be written",
                       in_quotes(file.string()));
  }
}

}  // namespace

std::string key_of(operators::Device device) {
  const int threads = this_machine().threads;
  return fmt::format("femcg {}, {}, {}", FEMCG_VERSION, device_name(device),
                     device == operators::Device::host ? fmt::format("{} threads", threads) : "GPU");
}

fs::path bandwidth_file() { return cached_file("copy_bandwidth.json"); }

std::optional<double> cached_copy_bandwidth(operators::Device device) { return cached_number(key_of(device)); }

std::optional<double> cached_rate(const std::string& what, operators::Device device) {
  return cached_number(key_of(device) + ", " + what);
}

std::string cache_rate(const std::string& what, operators::Device device, double rate) {
  return keep(key_of(device) + ", " + what, rate);
}

CopyBandwidth renewed_copy_bandwidth(operators::Device device, bool asked_for) {
  const ProcessorTime before = processor_time();
  CopyBandwidth measured = solver::measure_copy_bandwidth(device);
  const bool refused =
      device == operators::Device::host && was_refused(processor_time() - before, this_machine().threads);
  if (measured.bytes_per_second > 0 && (asked_for || !refused))
    measured.warning = keep(key_of(device), measured.bytes_per_second);
  return measured;
}

CopyBandwidth copy_bandwidth_of(operators::Device device) {
  if (const auto bytes_per_second = cached_copy_bandwidth(device)) return {*bytes_per_second, ""};
  return renewed_copy_bandwidth(device);
}

CopyBandwidth measure_copy_bandwidth(operators::Device device) try {
  return {operators::measure_copy_bandwidth(device), ""};
} catch (const std::exception& error) {
  return {0, fmt::format("the copy bandwidth was not measured: {}", reason_of(error))};
}

CopyBandwidth measure_link_bandwidth() try {
  constexpr std::int64_t bytes = std::int64_t{256} << 20;
  return {operators::cuda_link_bandwidth(bytes), ""};
} catch (const std::exception& error) {
  return {0, fmt::format("the bandwidth of the host's link was not measured: {}", reason_of(error))};
}

}  // namespace femcg::solver
