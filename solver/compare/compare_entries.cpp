#include "solver/compare/compare_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "operators/catalogue.hpp"
#include "solver/case/sweep.hpp"
#include "solver/messages/error.hpp"
#include "solver/problem/choose_device.hpp"
#include "solver/run/distributed_setup.hpp"

namespace femcg::solver {

using operators::Communicator;
using operators::Device;
using operators::OperatorDescription;

namespace {

bool any_on_gpu(const std::vector<SweptOperator>& operators) {
  return std::ranges::any_of(operators,
                             [](const SweptOperator& swept) { return operators::find_operator(swept.op.name)->cuda; });
}

/// Devices by name, each once. `auto` is the GPU if there is one and a chosen operator runs on it.
std::vector<Device> devices_of(const std::vector<std::string>& names, const std::vector<SweptOperator>& operators) {
  std::vector<Device> devices;
  const bool runs_on_gpu = any_on_gpu(operators);
  for (const std::string& name : names) {
    if (is_gpu(name)) require_gpu(name);
    const Device device = is_gpu(name) || (name == "auto" && runs_on_gpu && has_gpu()) ? Device::cuda : Device::host;
    if (std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
  }
  return devices;
}

std::string why_not_applicable(const OperatorDescription& row, Device device, bool matrix_only) {
  if (matrix_only && row.needs != operators::Needs::matrix) return "it needs a mesh, and there is only a matrix";
  if (device == Device::host && !row.host()) return "it has no version for the CPU";
  if (device == Device::cuda && !row.cuda) return "it has no version for the GPU";
  return "";
}

}  // namespace

ComparedDevices compared_devices(const CompareChoice& choice, const DistributionChoice& distribution,
                                 const Communicator& communicator) {
  ComparedDevices devices{choice.devices, ""};
  if (communicator.size() == 1) return devices;
  if (choice.devices.size() > 1)
    throw InputError(is_for_one_process("compare.devices with several", "name one, such as --device cpu"));
  SolverChoice asked;
  asked.device = choice.devices.front();
  if (asked.device == "auto" && !any_on_gpu(expand_operators(choice))) asked.device = "cpu";
  const Device device = choose_shared_device(asked, distribution, communicator, devices.why_on_host);
  devices.names = {device == Device::cuda ? "cuda" : "cpu"};
  return devices;
}

std::vector<BenchmarkEntry> choose_entries(const CompareChoice& choice, const ComparedDevices& devices,
                                           bool matrix_only) {
  const std::vector<SweptOperator> operators = expand_operators(choice);
  std::vector<BenchmarkEntry> entries;
  bool any = false;
  for (const Device device : devices_of(devices.names, operators))
    for (const SweptOperator& swept : operators) {
      const OperatorDescription& row = *operators::find_operator(swept.op.name);
      std::string reason = why_not_applicable(row, device, matrix_only);
      any = any || reason.empty();
      if (reason.empty() || !choice.all_operators)
        entries.push_back({swept.op, device, swept.values, std::move(reason)});
    }
  if (!any)
    throw InputError(entries.empty() ? std::string("no operator of this build applies")
                                     : fmt::format("none of the chosen operators applies; {}: {}",
                                                   entries.front().op.name, entries.front().not_applicable));
  return entries;
}

bool note_processes(const ComparedDevices& devices, const DistributionChoice& distribution,
                    const Communicator& communicator, std::vector<std::string>& warnings) {
  if (communicator.size() == 1) return false;
  Record record;
  record.machine = this_machine();
  const bool tries_task = devices.names.front() == "cpu" && distribution.mode == operators::ExchangeMode::automatic;
  const bool spare = check_threads(communicator, tries_task, record);
  std::ranges::move(record.warnings, std::back_inserter(warnings));
  if (!devices.why_on_host.empty()) warnings.push_back(devices.why_on_host);
  return spare;
}

}  // namespace femcg::solver
