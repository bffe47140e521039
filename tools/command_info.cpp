#include <fmt/format.h>
#include <omp.h>

#include "mesh/gmsh_reader.hpp"
#include "operators/backend/copy_bandwidth.hpp"
#include "operators/backend/device.hpp"
#include "tools/commands.hpp"

namespace femcg::tools {

namespace {

std::string bandwidth_text(operators::Device device) {
  const operators::Bandwidth bandwidth = operators::measure_copy_bandwidth(device);
  return fmt::format("{:.1f} GB/s (copying {:.0f} MB, read plus written)", bandwidth.bytes_per_second * 1e-9,
                     static_cast<double>(bandwidth.array_bytes) * 1e-6);
}

std::string line(std::string_view what, std::string_view answer) { return fmt::format("{:<16}{}\n", what, answer); }

}  // namespace

std::string version() { return "femcg " FEMCG_VERSION; }

std::string info() {
  std::string text = version() + "\n";
  text += line("compiler", FEMCG_COMPILER ", " FEMCG_BUILD_TYPE);
  text += line("architecture", FEMCG_ARCHITECTURE);
  text += line("Gmsh", mesh::gmsh_available() ? mesh::gmsh_version() : "no (meshes: box only)");
  text += line("CUDA", operators::built_with_cuda() ? "yes" : "no");
  text += line("threads", fmt::format("{} of {}", omp_get_max_threads(), omp_get_num_procs()));
  text += line("cpu copies", bandwidth_text(operators::Device::host));

  std::string reason;
  const auto devices = operators::cuda_devices(&reason);
  if (devices.empty()) text += line("cuda devices", "none: " + reason);
  for (const operators::DeviceProperties& device : devices)
    text +=
        line("cuda device", fmt::format("{}, compute capability {}.{}, {} multiprocessors, {:.1f} of {:.1f} GB free",
                                        device.name, device.major, device.minor, device.multiprocessors,
                                        static_cast<double>(device.free_bytes) * 1e-9,
                                        static_cast<double>(device.memory_bytes) * 1e-9));
  if (!devices.empty()) text += line("cuda copies", bandwidth_text(operators::Device::cuda));
  return text;
}

}  // namespace femcg::tools
