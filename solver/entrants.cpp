#include "solver/entrants.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "operators/catalogue.hpp"
#include "solver/error.hpp"
#include "solver/setup.hpp"

namespace femcg::solver {

namespace {

using operators::Device;
using operators::OperatorDescription;

/// The devices by name, each once. `auto` is the GPU where there is one and a chosen operator runs on it.
std::vector<Device> devices_of(const EntrantChoice& choice) {
  std::vector<Device> devices;
  const bool runs_on_gpu = std::ranges::any_of(
      choice.operators, [](const SweptOperator& swept) { return operators::find_operator(swept.op.name)->cuda; });
  for (const std::string& name : choice.devices) {
    const Device device = name == "cpu"    ? Device::host
                          : name == "cuda" ? Device::cuda
                                           : (runs_on_gpu && has_gpu() ? Device::cuda : Device::host);
    if (device == Device::cuda) require_gpu();
    if (std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
  }
  return devices;
}

std::string why_not_applicable(const OperatorDescription& row, Device device, bool matrix_only) {
  if (matrix_only && row.needs != operators::Needs::matrix) return "it is made from a mesh, and here is only a matrix";
  if (device == Device::host && !row.host) return "it has no version for the CPU";
  if (device == Device::cuda && !row.cuda) return "it has no version for the GPU";
  return "";
}

}  // namespace

std::vector<Entrant> choose_entrants(const EntrantChoice& choice) {
  std::vector<Entrant> entrants;
  bool any = false;
  for (const Device device : devices_of(choice))
    for (const SweptOperator& swept : choice.operators) {
      const OperatorDescription& row = *operators::find_operator(swept.op.name);
      std::string reason = why_not_applicable(row, device, choice.matrix_only);
      any = any || reason.empty();
      if (reason.empty() || !choice.all_operators)
        entrants.push_back({swept.op, device, swept.values, std::move(reason)});
    }
  if (!any)
    throw InputError(entrants.empty() ? std::string("no operator of this build applies")
                                      : fmt::format("none of the chosen operators applies; of {}, {}",
                                                    entrants.front().op.name, entrants.front().not_applicable));
  return entrants;
}

}  // namespace femcg::solver
