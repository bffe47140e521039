#include <fmt/format.h>
#include <omp.h>

#include <stdexcept>

#include "mesh/gmsh/gmsh_reader.hpp"
#include "operators/backend/device.hpp"
#include "operators/distributed/messages/communicator.hpp"
#include "solver/benchmark/cached_bandwidth.hpp"
#include "solver/prediction/models/cached_model.hpp"
#include "solver/records/build_info.hpp"
#include "tools/commands.hpp"

namespace femcg::tools {

namespace {

std::string bandwidth_text(operators::Device device, bool measure) {
  const auto text = [](double bytes_per_second) {
    return fmt::format("{:.1f} GB/s, read plus written", bytes_per_second * 1e-9);
  };
  if (measure) {
    const solver::CopyBandwidth measured = solver::renewed_copy_bandwidth(device, true);
    return measured.bytes_per_second > 0 ? text(measured.bytes_per_second) : measured.warning;
  }
  const auto kept = solver::cached_copy_bandwidth(device);
  return kept ? text(*kept) + ", as measured before" : "not measured yet: femcg info --measure, or the first run";
}

std::string model_text(operators::Device device) {
  const solver::CachedCalibration kept = solver::cached_calibration(device);
  if (!kept.calibration.empty()) return "calibrated with every operator";
  return "not calibrated: femcg predict --train" + (kept.warning.empty() ? "" : "; " + kept.warning);
}

std::string gmsh_text() {
  if (!mesh::gmsh_available()) return "no (meshes: box only)";
  try {
    return mesh::gmsh_version();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

std::string line(std::string_view what, std::string_view answer) { return fmt::format("{:<16}{}\n", what, answer); }

}  // namespace

std::string version() { return "femcg " FEMCG_VERSION; }

std::string info(bool measure) {
  std::string text = version() + "\n";
  text += line("commit", solver::build_info().commit);
  text += line("compiler", solver::build_info().compiler + ", " FEMCG_BUILD_TYPE ", " + solver::build_info().flags);
  text += line("architecture", FEMCG_ARCHITECTURE);
  text += line("Gmsh", gmsh_text());
  text += line("MPI", operators::Communicator::available() ? "yes" : "no (one process)");
  text += line("CUDA", operators::built_with_cuda() ? "yes" : "no");
  text += line("threads", fmt::format("{} of {}", omp_get_max_threads(), omp_get_num_procs()));
  text += line("cpu copies", bandwidth_text(operators::Device::host, measure));
  text += line("cpu model", model_text(operators::Device::host));

  std::string reason;
  const std::optional<int> in_use = operators::cuda_device_in_use(&reason);
  if (!in_use) text += line("cuda devices", "none: " + reason);
  const auto devices = in_use ? operators::cuda_devices() : std::vector<operators::DeviceProperties>{};
  for (std::size_t number = 0; number < devices.size(); ++number) {
    const operators::DeviceProperties& device = devices[number];
    const double memory = 1e-9 * static_cast<double>(device.memory_bytes);
    text += line(
        fmt::format("cuda:{}", number),
        fmt::format("{}, compute capability {}.{}, {} multiprocessors, {}", device.name, device.major, device.minor,
                    device.multiprocessors,
                    static_cast<int>(number) == *in_use
                        ? fmt::format("{:.1f} of {:.1f} GB free", 1e-9 * static_cast<double>(device.free_bytes), memory)
                        : fmt::format("{:.1f} GB", memory)));
  }
  if (in_use) {
    text += line("cuda copies", bandwidth_text(operators::Device::cuda, measure));
    text += line("cuda model", model_text(operators::Device::cuda));
  }
  return text;
}

}  // namespace femcg::tools
