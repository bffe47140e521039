#include "solver/run/device_start.hpp"

#include <filesystem>

#include "solver/problem/choose_device.hpp"
#include "solver/run/distributed_setup.hpp"

namespace femcg::solver {

namespace {

/// True if the driver's device files exist; asking the driver itself takes most of its start-up time.
bool may_have_gpu() {
  return operators::built_with_cuda() &&
         (std::filesystem::exists("/dev/nvidiactl") || std::filesystem::exists("/dev/dxg"));  // /dev/dxg: on Windows
}

operators::Device start_device(const SolverChoice& solver) {
  const operators::Device device = choose_device(solver.device, solver.op);
  if (device == operators::Device::cuda) require_gpu(solver.device);
  return device;
}

}  // namespace

DeviceStart::DeviceStart(const SolverChoice& solver, const DistributionChoice& distribution,
                         const operators::Communicator& processes)
    : solver_(solver), may_be_gpu_(processes.size() == 1 && solver.device != "cpu" && may_have_gpu()) {
  if (may_be_gpu_) return;
  const bool alone = processes.size() == 1;
  std::promise<operators::Device> decided;
  decided.set_value(alone ? start_device(solver) : choose_shared_device(solver, distribution, processes, why_on_host_));
  started_ = decided.get_future();
}

void DeviceStart::begin() {
  if (!started_.valid()) started_ = std::async(std::launch::async, [this] { return start_device(solver_); });
}

operators::Device DeviceStart::device() {
  begin();
  const operators::Device device = started_.get();
  if (device == operators::Device::cuda) {
    operators::cuda_device_in_use();  // selects the GPU for this thread
    clocks_ = std::async(std::launch::async, operators::cuda_start_clocks);
  }
  return device;
}

}  // namespace femcg::solver
