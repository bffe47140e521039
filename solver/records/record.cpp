#include "solver/records/record.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <omp.h>
#include <sys/resource.h>

#include <charconv>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

namespace femcg::solver {

namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const auto colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "unknown processor";
}

}  // namespace

Machine this_machine() { return {processor_name(), omp_get_max_threads(), "", 0}; }

std::string name(Precision precision) { return precision == Precision::double_ ? "double" : "single"; }
std::string name(operators::Device device) { return device == operators::Device::host ? "cpu" : "cuda"; }

std::string device_name(operators::Device device) {
  return device == operators::Device::host ? processor_name()
                                           : operators::cuda_devices().at(operators::cuda_device_in_use().value()).name;
}

std::string timestamp() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

std::int64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

namespace {

using nlohmann::ordered_json;

/// A whole number as a number, everything else as text.
ordered_json option_value(const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && last == end ? ordered_json(number) : ordered_json(text);
}

ordered_json problem_json(const ProblemSize& problem) {
  return {{"dimension", problem.dimension},
          {"cell", mesh::name(problem.shape)},
          {"cells", problem.cells},
          {"degree", problem.degree},
          {"geometric_order", problem.geometric_order},
          {"quadrature", problem.quadrature},
          {"dofs", problem.dofs},
          {"unknowns", problem.unknowns}};
}

ordered_json operator_json(const Record& r) {
  ordered_json options = ordered_json::object();
  for (const auto& [option, value] : r.op.options) options[option] = option_value(value);
  ordered_json chosen = ordered_json::object();
  for (const auto& [option, value] : r.chosen) chosen[option] = option_value(value);
  return {{"name", r.op.name},
          {"options", options},
          {"chosen", chosen},
          {"precision", name(r.precision)},
          {"device", name(r.device)},
          {"nonzeros", r.footprint.nonzeros},
          {"stored_bytes", r.footprint.stored_bytes},
          {"moved_bytes", r.footprint.moved_bytes},
          {"flops", r.footprint.flops},
          {"padding_ratio", r.footprint.padding_ratio}};
}

ordered_json apply_json(const Record& r) {
  const double seconds = r.apply.median();
  const auto a_second = [&](std::int64_t count) { return seconds > 0 ? static_cast<double>(count) / seconds : 0.0; };
  return {{"median_seconds", seconds},
          {"minimum_seconds", r.apply.minimum()},
          {"maximum_seconds", r.apply.maximum()},
          {"gflops", 1e-9 * a_second(r.footprint.flops)},
          {"effective_bandwidth", a_second(r.footprint.effective_bytes)},
          {"minimum_bandwidth", r.minimum_bandwidth()},
          {"bandwidth_fraction", r.bandwidth_fraction()}};
}

}  // namespace

ordered_json preconditioner_json(const Record& r) {
  const auto numbers = [](const std::map<std::string, std::string>& texts) {
    ordered_json json = ordered_json::object();
    for (const auto& [key, text] : texts) {
      json[key] = option_value(text);
      double number = 0;
      const char* end = text.data() + text.size();
      if (json[key].is_string() && std::from_chars(text.data(), end, number).ptr == end) json[key] = number;
    }
    return json;
  };
  return {{"preconditioner", r.preconditioner.name},
          {"preconditioner_options", numbers(r.preconditioner.options)},
          {"preconditioner_chosen", numbers(r.preconditioner_chosen)}};
}

ordered_json to_json(const Record& r) {
  ordered_json set = ordered_json::object();
  for (const auto& [key, value] : r.set) set[key] = value;
  ordered_json solve = preconditioner_json(r);
  solve.update({{"cg", name(r.solve.method)},
                {"loop", name(r.solve.loop)},
                {"iterations", r.solve.iterations},
                {"reason", name(r.solve.reason)},
                {"relative_residual", r.solve.relative_residual},
                {"true_relative_residual", r.solve.true_relative_residual},
                {"iterations_per_second", r.iterations_per_second()},
                {"unknowns_per_second", r.unknowns_per_second()}});
  ordered_json json{{"schema", 1},
                    {"femcg", FEMCG_VERSION},
                    {"command", r.command},
                    {"case", r.case_file},
                    {"title", r.title},
                    {"set", set},
                    {"started", r.started},
                    {"machine",
                     {{"processor", r.machine.processor},
                      {"threads", r.machine.threads},
                      {"device", r.machine.device},
                      {"copy_bandwidth", r.machine.copy_bandwidth}}},
                    {"problem", problem_json(r.problem)},
                    {"operator", operator_json(r)},
                    {"seconds",
                     {{"mesh", r.seconds.mesh},
                      {"space", r.seconds.space},
                      {"assembly", r.seconds.assembly},
                      {"conversion", r.seconds.conversion},
                      {"transfer", r.seconds.transfer},
                      {"solve", r.seconds.solve}}},
                    {"solve", solve},
                    {"apply", apply_json(r)}};
  if (r.quantities) {
    ordered_json probes = ordered_json::object();
    for (const auto& [probe, value] : r.quantities->probes) probes[probe] = value;
    json["quantities"] = {{"minimum", r.quantities->minimum},
                          {"maximum", r.quantities->maximum},
                          {"integral", r.quantities->integral},
                          {"flux", r.quantities->flux},
                          {"probes", probes}};
  }
  if (r.errors) json["error"] = {{"l2", r.errors->l2}, {"h1", r.errors->h1}};
  json["memory"] = {{"estimated_host_bytes", r.memory.host_bytes}, {"estimated_device_bytes", r.memory.device_bytes}};
  json["peak_memory_bytes"] = r.peak_memory_bytes;
  json["remarks"] = r.remarks;
  return json;
}

std::string to_text(const ordered_json& json) {
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string to_line(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string to_lines(const ordered_json& array) {
  std::string text = "[";
  for (const ordered_json& entry : array) text += (text.size() > 1 ? ",\n" : "\n") + to_line(entry);
  return text + "\n]\n";
}

std::string to_csv(const std::vector<Iteration>& history) {
  std::string text = "iteration,relative_residual,seconds\n";
  for (const Iteration& iteration : history)
    text += fmt::format("{},{:.17g},{:.9f}\n", iteration.number, iteration.relative_residual, iteration.seconds);
  return text;
}

}  // namespace femcg::solver
