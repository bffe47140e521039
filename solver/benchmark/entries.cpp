#include "solver/benchmark/entries.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "operators/catalogue.hpp"
#include "solver/messages/error.hpp"
#include "solver/problem/choose_device.hpp"

namespace femcg::solver {

namespace {

using operators::Device;
using operators::OperatorDescription;

/// The devices by name, each once. `auto` is the GPU where there is one and a chosen operator runs on it.
std::vector<Device> devices_of(const EntryChoice& choice) {
  std::vector<Device> devices;
  const bool runs_on_gpu = std::ranges::any_of(
      choice.operators, [](const SweptOperator& swept) { return operators::find_operator(swept.op.name)->cuda; });
  for (const std::string& name : choice.devices) {
    if (is_gpu(name)) require_gpu(name);
    const Device device = is_gpu(name) || (name == "auto" && runs_on_gpu && has_gpu()) ? Device::cuda : Device::host;
    if (std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
  }
  return devices;
}

std::string why_not_applicable(const OperatorDescription& row, Device device, bool matrix_only) {
  if (matrix_only && row.needs != operators::Needs::matrix) return "it is made from a mesh, and here is only a matrix";
  if (device == Device::host && !row.host()) return "it has no version for the CPU";
  if (device == Device::cuda && !row.cuda) return "it has no version for the GPU";
  return "";
}

}  // namespace

std::vector<BenchmarkEntry> choose_entries(const EntryChoice& choice) {
  std::vector<BenchmarkEntry> entries;
  bool any = false;
  for (const Device device : devices_of(choice))
    for (const SweptOperator& swept : choice.operators) {
      const OperatorDescription& row = *operators::find_operator(swept.op.name);
      std::string reason = why_not_applicable(row, device, choice.matrix_only);
      any = any || reason.empty();
      if (reason.empty() || !choice.all_operators)
        entries.push_back({swept.op, device, swept.values, std::move(reason)});
    }
  if (!any)
    throw InputError(entries.empty() ? std::string("no operator of this build applies")
                                     : fmt::format("none of the chosen operators applies; of {}, {}",
                                                   entries.front().op.name, entries.front().not_applicable));
  return entries;
}

}  // namespace femcg::solver
