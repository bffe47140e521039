#include "solver/problem/choose_device.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "operators/catalogue.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/messages/units.hpp"

namespace femcg::solver {

bool is_gpu(std::string_view device) { return device.starts_with("cuda"); }

bool has_gpu() { return operators::cuda_device_in_use().has_value(); }

void require_gpu(std::string_view device) {
  if (const std::size_t colon = device.find(':'); colon != std::string_view::npos) try {
      return operators::choose_cuda_device(std::stoi(std::string(device.substr(colon + 1))));
    } catch (const std::runtime_error& error) {
      throw MachineError(fmt::format("device {}", error.what()));
    }
  std::string reason;
  if (!operators::cuda_device_in_use(&reason))
    throw MachineError(fmt::format("device cuda was requested, but there is no GPU: {}", reason));
}

operators::Device device_named(std::string_view device) {
  return is_gpu(device) || (device == "auto" && has_gpu()) ? operators::Device::cuda : operators::Device::host;
}

operators::Device choose_device(std::string_view device, const OperatorChoice& op) {
  if (is_automatic(op)) return device_named(device);
  const operators::OperatorDescription& row = *operators::find_operator(op.name);
  const auto missing = [&](std::string_view version, std::string_view other) {
    return InputError(
        at_place(op.place, fmt::format("operator '{}' has no {} version; use device: {}", row.name, version, other)));
  };
  if (is_gpu(device)) {
    if (!row.cuda) throw missing("CUDA", "cpu");
    return operators::Device::cuda;
  }
  if (device == "auto" && row.cuda && has_gpu()) return operators::Device::cuda;
  if (!row.host()) throw missing("CPU", "cuda");
  return operators::Device::host;
}

std::string why_on_host(const SolverChoice& solver, std::int64_t unknowns, std::int64_t loads, int threads) {
  if (solver.device != "auto" || solver.loop == CgLoop::persistent) return "";
  if (!is_automatic(solver.op) && !operators::find_operator(solver.op.name)->host()) return "";
  const std::string& preconditioner = solver.preconditioner.name;
  const bool few_iterations = preconditioner == "auto" || preconditioner == "multigrid" || preconditioner == "tensor";
  const std::int64_t of_thread = few_iterations ? 25'000 : 2'500, least = of_thread * threads;
  if (unknowns * loads >= least) return "";
  return fmt::format("the problem is too small to gain from a GPU: below {} unknowns {} threads end first",
                     grouped(least), threads);
}

}  // namespace femcg::solver
