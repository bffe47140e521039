#include "solver/records/record.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "solver/records/build_info.hpp"

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

Machine this_machine() {
  Machine machine;
  machine.processor = processor_name();
  machine.threads = omp_get_max_threads();
  if (getloadavg(machine.load.data(), static_cast<int>(machine.load.size())) < 0) machine.load = {};
  return machine;
}

void note_gpu(Machine& machine) {
  machine.driver = operators::cuda_driver();
  machine.clocks = operators::cuda_clocks();
}

std::string name(Precision precision) {
  return precision == Precision::double_ ? "double" : precision == Precision::single ? "single" : "mixed";
}
std::string name(operators::Device device) { return device == operators::Device::host ? "cpu" : "cuda"; }

std::string device_name(operators::Device device) {
  return device == operators::Device::host ? processor_name()
                                           : operators::cuda_devices().at(operators::cuda_device_in_use().value()).name;
}

Record begun_run(const Case& resolved) {
  Record record;
  record.command = "run";
  record.case_file = resolved.file.string();
  record.title = resolved.title;
  record.solution = resolved.solution;
  record.set = resolved.set;
  record.started = timestamp();
  record.machine = this_machine();
  record.op = resolved.solver.op;
  record.automatic_op = is_automatic(resolved.solver.op);
  record.precision = resolved.solver.precision;
  record.preconditioner = resolved.solver.preconditioner;
  return record;
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

/// Integer texts as numbers, all others as text.
ordered_json option_value(const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && last == end ? ordered_json(number) : ordered_json(text);
}

ordered_json problem_json(const ProblemSize& problem) {
  ordered_json json{{"dimension", problem.dimension},
                    {"cell", mesh::name(problem.shape)},
                    {"cells", problem.cells},
                    {"degree", problem.degree},
                    {"geometric_order", problem.geometric_order},
                    {"quadrature", problem.quadrature},
                    {"dofs", problem.dofs},
                    {"unknowns", problem.unknowns}};
  if (problem.axisymmetric) json["geometry"] = "axisymmetric";
  return json;
}

ordered_json operator_json(const Record& r) {
  ordered_json json{{"name", r.op.name}};
  if (r.automatic_op) json.update({{"requested", automatic_operator}, {"why", r.why}});
  json.update({{"options", options_json(r.op.options)},
               {"chosen", options_json(r.chosen)},
               {"precision", name(r.precision)},
               {"device", name(r.device)},
               {"nonzeros", r.footprint.nonzeros},
               {"stored_bytes", r.footprint.stored_bytes},
               {"moved_bytes", r.footprint.moved_bytes},
               {"flops", r.footprint.flops},
               {"padding_ratio", r.footprint.padding_ratio}});
  if (r.footprint.link_bytes > 0)
    json.update({{"host_bytes", r.footprint.host_bytes}, {"link_bytes", r.footprint.link_bytes}});
  return json;
}

ordered_json seconds_json(const Record& r) {
  ordered_json json{{"mesh", r.seconds.mesh},
                    {"space", r.seconds.space},
                    {"assembly", r.seconds.assembly},
                    {"conversion", r.seconds.conversion},
                    {"preconditioner", r.seconds.preconditioner},
                    {"transfer", r.seconds.transfer},
                    {"solve", r.seconds.solve}};
  if (r.steps.empty()) return json;
  json["total"] = total(r.steps);
  json["steps"] = ordered_json::array();
  for (const StepSeconds& step : r.steps)
    json["steps"].push_back({{"step", step.name}, {"device", step.device}, {"seconds", step.seconds}});
  return json;
}

ordered_json machine_json(const Record& r) {
  ordered_json json{{"processor", r.machine.processor}, {"threads", r.machine.threads}, {"device", r.machine.device}};
  if (!r.why_device.empty()) json.update({{"requested", "auto"}, {"why", r.why_device}});
  json["copy_bandwidth"] = r.machine.copy_bandwidth;
  json["load_average"] = r.machine.load;
  if (!r.machine.driver.empty()) json["driver"] = r.machine.driver;
  if (const auto& clocks = r.machine.clocks)
    json["clocks"] = {{"multiprocessors_mhz", clocks->multiprocessors},
                      {"memory_mhz", clocks->memory},
                      {"most_multiprocessors_mhz", clocks->most_multiprocessors},
                      {"most_memory_mhz", clocks->most_memory}};
  return json;
}

ordered_json apply_json(const Record& r) {
  const double seconds = r.apply.median();
  const auto a_second = [&](std::int64_t count) { return seconds > 0 ? static_cast<double>(count) / seconds : 0.0; };
  ordered_json json{{"median_seconds", seconds},
                    {"minimum_seconds", r.apply.minimum()},
                    {"maximum_seconds", r.apply.maximum()},
                    {"gflops", 1e-9 * a_second(r.footprint.flops)},
                    {"effective_bandwidth", a_second(r.footprint.effective_bytes)},
                    {"minimum_bandwidth", r.minimum_bandwidth()},
                    {"bandwidth_fraction", r.bandwidth_fraction()}};
  if (r.footprint.link_bytes > 0) json["link_rate"] = r.link_rate();
  return json;
}

ordered_json solve_json(const CgResult& solve, std::int32_t unknowns) {
  const double a_second = solve.seconds > 0 ? static_cast<double>(solve.iterations) / solve.seconds : 0;
  ordered_json json{{"iterations", solve.iterations},
                    {"reason", name(solve.reason)},
                    {"relative_residual", solve.relative_residual},
                    {"true_relative_residual", solve.true_relative_residual}};
  if (std::isfinite(solve.energy_error)) json["energy_error"] = solve.energy_error;
  json.update({{"iterations_per_second", a_second}, {"unknowns_per_second", a_second * unknowns}});
  return json;
}

ordered_json quantities_json(const Quantities& quantities) {
  ordered_json probes = ordered_json::object();
  for (const auto& [probe, value] : quantities.probes) probes[probe] = value;
  ordered_json groups = ordered_json::object(), regions = ordered_json::object();
  for (const auto& [name, group] : quantities.groups)
    groups[name] = {{"area", group.area},       {"mean", group.mean}, {"minimum", group.minimum},
                    {"maximum", group.maximum}, {"flux", group.flux}, {"gradient_flux", group.gradient_flux}};
  for (const auto& [name, region] : quantities.regions)
    regions[name] = {{"volume", region.volume}, {"mean", region.mean}};
  const Balance& balance = quantities.balance;
  return {{"minimum", quantities.minimum},
          {"maximum", quantities.maximum},
          {"integral", quantities.integral},
          {"flux", quantities.flux},
          {"groups", groups},
          {"regions", regions},
          {"balance",
           {{"in", balance.in},
            {"out", balance.out},
            {"sources", balance.sources},
            {"sinks", balance.sinks},
            {"relative_error", balance.relative_error()}}},
          {"probes", probes}};
}

std::string csv_lines(const std::vector<Iteration>& history, const std::string& before) {
  std::string text;
  for (const Iteration& iteration : history)
    text +=
        fmt::format("{}{},{:.17g},{:.9f}\n", before, iteration.number, iteration.relative_residual, iteration.seconds);
  return text;
}

}  // namespace

ordered_json options_json(const std::map<std::string, std::string>& options) {
  ordered_json json = ordered_json::object();
  for (const auto& [option, value] : options) json[option] = option_value(value);
  return json;
}

ordered_json residual_points(const std::vector<Iteration>& history) {
  constexpr std::size_t most = 200;
  const std::size_t count = std::min(most, history.size());
  ordered_json points = ordered_json::array();
  for (std::size_t i = 0; i < count; ++i) {
    const Iteration& at = history[count < 2 ? 0 : i * (history.size() - 1) / (count - 1)];
    points.push_back({at.number, at.relative_residual, at.seconds});
  }
  return points;
}

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
  solve.update({{"cg", name(r.solve.method)}, {"loop", name(r.solve.loop)}});
  solve.update(solve_json(r.solve, r.problem.unknowns));
  ordered_json json{
      {"schema", 1},
      {"femcg", FEMCG_VERSION},
      {"command", r.command},
      {"case", r.case_file},
      {"title", r.title},
      {"set", set},
      {"started", r.started},
      {"build", {{"commit", build_info().commit}, {"compiler", build_info().compiler}, {"flags", build_info().flags}}},
      {"machine", machine_json(r)},
      {"problem", problem_json(r.problem)},
      {"operator", operator_json(r)},
      {"seconds", seconds_json(r)},
      {"solve", solve},
      {"apply", apply_json(r)}};
  if (r.machine.link_bandwidth > 0) json["machine"]["link_bandwidth"] = r.machine.link_bandwidth;
  if (r.solution.name != SolutionLabel().name || !r.solution.unit.empty())
    json["solution"] = {{"name", r.solution.name}, {"unit", r.solution.unit}};
  if (r.quantities) json["quantities"] = quantities_json(*r.quantities);
  for (const LoadRecord& load : r.loads) {
    ordered_json entry{{"name", load.name}, {"solve", solve_json(load.solve, r.problem.unknowns)}};
    if (!load.begun) entry["solve"]["relative_residual"] = entry["solve"]["true_relative_residual"] = nullptr;
    if (load.quantities) entry["quantities"] = quantities_json(*load.quantities);
    json["loads"].push_back(std::move(entry));
  }
  if (!r.terminals.empty()) {
    json["terminals"] = {{"names", ordered_json::array()}, {"matrix", r.terminals}};
    for (const LoadRecord& load : r.loads) json["terminals"]["names"].push_back(load.name);
  }
  if (r.tuning) json["tuning"] = to_json(*r.tuning);
  if (r.errors) {
    json["error"] = {{"l2", r.errors->l2}, {"h1", r.errors->h1}};
    if (r.errors->norm_l2 > 0) json["error"]["relative_l2"] = r.errors->l2 / r.errors->norm_l2;
    if (r.errors->norm_h1 > 0) json["error"]["relative_h1"] = r.errors->h1 / r.errors->norm_h1;
  }
  for (const LevelSummary& level : r.hierarchy) {
    ordered_json entry{{"kind", level.kind},
                       {"unknowns", level.unknowns},
                       {"operator", level.operator_name.empty() ? r.op.name : level.operator_name},
                       {"bytes", level.bytes}};
    if (level.largest_eigenvalue > 0) entry["largest_eigenvalue"] = level.largest_eigenvalue;
    if (level.blocks > 0) entry["blocks"] = level.blocks;
    json["hierarchy"].push_back(std::move(entry));
  }
  if (r.distribution) add_json(*r.distribution, json);
  json["memory"] = {{"estimated_host_bytes", r.memory.host_bytes}, {"estimated_device_bytes", r.memory.device_bytes}};
  json["peak_memory_bytes"] = r.peak_memory_bytes;
  if (r.files.written > 0) json["files"] = {{"expected_bytes", r.files.expected}, {"written_bytes", r.files.written}};
  json["remarks"] = r.warnings;
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

std::string csv_field(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  const bool is_formula =
      !is_number && !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos;
  if (!is_formula && text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = is_formula ? "\"'" : "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string residuals_csv(const Record& record) {
  const std::string columns = "iteration,relative_residual,seconds\n";
  if (record.loads.empty()) return columns + csv_lines(record.solve.history, "");
  std::string text = "load," + columns;
  for (const LoadRecord& load : record.loads) text += csv_lines(load.solve.history, csv_field(load.name) + ",");
  return text;
}

CgResult all_of(const std::vector<LoadRecord>& loads) {
  CgResult all;
  all.method = loads.front().solve.method;
  all.loop = loads.front().solve.loop;
  all.delayed_update = loads.front().solve.delayed_update;
  all.reason = StopReason::converged;
  for (const LoadRecord& load : loads) {
    if (all.reason == StopReason::converged) all.reason = load.solve.reason;
    all.iterations += load.solve.iterations;
    all.seconds += load.solve.seconds;
    all.relative_residual = std::max(all.relative_residual, load.solve.relative_residual);
    all.true_relative_residual = std::max(all.true_relative_residual, load.solve.true_relative_residual);
    all.energy_error = std::fmax(all.energy_error, load.solve.energy_error);
  }
  return all;
}

}  // namespace femcg::solver
