#include "solver/record.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
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

std::string timestamp() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

std::int64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

template <std::floating_point T>
ApplyTimes time_products(const operators::Operator<T>& a) {
  operators::Vector<T> x(a.size(), a.device()), y(a.size(), a.device());
  for (std::int64_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(1.0 + 0.5 * std::sin(static_cast<double>(i)));
  operators::Scalar energy(a.device());
  std::vector<double> seconds;
  double total = 0;
  a.apply(x, y, &energy);
  while (seconds.size() < 5 || (total < 0.5 && seconds.size() < 101)) {
    const auto begin = std::chrono::steady_clock::now();
    a.apply(x, y, &energy);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    total += seconds.back();
  }
  std::sort(seconds.begin(), seconds.end());
  return {seconds[seconds.size() / 2], seconds.front(), seconds.back()};
}

template ApplyTimes time_products(const operators::Operator<double>&);
template ApplyTimes time_products(const operators::Operator<float>&);

nlohmann::ordered_json to_json(const Record& r) {
  using nlohmann::ordered_json;
  ordered_json probes = ordered_json::object(), options = ordered_json::object();
  for (const auto& [probe, value] : r.quantities.probes) probes[probe] = value;
  for (const auto& [option, value] : r.op.options) options[option] = value;
  const double seconds = r.apply.median;
  ordered_json json{
      {"schema", 1},
      {"femcg", FEMCG_VERSION},
      {"command", r.command},
      {"case", r.case_file},
      {"started", r.started},
      {"machine",
       {{"processor", r.machine.processor},
        {"threads", r.machine.threads},
        {"device", r.machine.device},
        {"copy_bandwidth", r.machine.copy_bandwidth}}},
      {"problem",
       {{"dimension", r.problem.dimension},
        {"cell", mesh::name(r.problem.shape)},
        {"cells", r.problem.cells},
        {"degree", r.problem.degree},
        {"geometric_order", r.problem.geometric_order},
        {"quadrature", r.problem.quadrature},
        {"dofs", r.problem.dofs},
        {"unknowns", r.problem.unknowns}}},
      {"operator",
       {{"name", r.op.name},
        {"options", options},
        {"precision", name(r.precision)},
        {"device", name(r.device)},
        {"nonzeros", r.footprint.nonzeros},
        {"stored_bytes", r.footprint.stored_bytes},
        {"moved_bytes", r.footprint.moved_bytes},
        {"flops", r.footprint.flops},
        {"padding_ratio", r.footprint.padding_ratio}}},
      {"seconds",
       {{"mesh", r.seconds.mesh},
        {"space", r.seconds.space},
        {"assembly", r.seconds.assembly},
        {"conversion", r.seconds.conversion},
        {"transfer", r.seconds.transfer},
        {"solve", r.seconds.solve}}},
      {"solve",
       {{"preconditioner", r.preconditioner},
        {"iterations", r.solve.iterations},
        {"reason", name(r.solve.reason)},
        {"relative_residual", r.solve.relative_residual},
        {"true_relative_residual", r.solve.true_relative_residual},
        {"iterations_per_second", r.iterations_per_second()},
        {"unknowns_per_second", r.unknowns_per_second()}}},
      {"apply",
       {{"median_seconds", seconds},
        {"minimum_seconds", r.apply.minimum},
        {"maximum_seconds", r.apply.maximum},
        {"gflops", seconds > 0 ? 1e-9 * static_cast<double>(r.footprint.flops) / seconds : 0.0},
        {"effective_bandwidth", seconds > 0 ? static_cast<double>(r.footprint.effective_bytes) / seconds : 0.0},
        {"minimum_bandwidth", r.minimum_bandwidth()},
        {"bandwidth_fraction", r.bandwidth_fraction()}}},
      {"quantities",
       {{"minimum", r.quantities.minimum},
        {"maximum", r.quantities.maximum},
        {"integral", r.quantities.integral},
        {"flux", r.quantities.flux},
        {"probes", probes}}}};
  if (r.errors) json["error"] = {{"l2", r.errors->l2}, {"h1", r.errors->h1}};
  json["peak_memory_bytes"] = r.peak_memory_bytes;
  json["remarks"] = r.remarks;
  return json;
}

std::string to_csv(const std::vector<Iteration>& history) {
  std::string text = "iteration,relative_residual,seconds\n";
  for (const Iteration& iteration : history)
    text += fmt::format("{},{:.17g},{:.9f}\n", iteration.number, iteration.relative_residual, iteration.seconds);
  return text;
}

}  // namespace femcg::solver
