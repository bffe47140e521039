#pragma once

#include <future>
#include <string>

#include "operators/backend/device.hpp"
#include "operators/distributed/messages/communicator.hpp"
#include "solver/case/case.hpp"

namespace femcg::solver {

/// The device of a run as requested by a case. A GPU takes half a second to start; a thread starts it concurrently with
/// the first steps on the processor: mesh, space and load. No GPU may be used until device() has returned.
class DeviceStart {
 public:
  /// All arguments must outlive this object. Several processes choose the device in the constructor
  /// (choose_shared_device), and so does one without a GPU, so that errors are reported before any work. Throws like
  /// device(). Collective.
  DeviceStart(const SolverChoice& solver, const DistributionChoice& distribution,
              const operators::Communicator& processes);

  /// Starts the thread. Must not be called before a process is forked, which would inherit locks of the driver's
  /// libraries.
  void begin();
  /// Waits for the device. Throws InputError if the operator has no version for it, and MachineError if a requested GPU
  /// does not exist.
  operators::Device device();
  /// False if it is known without the GPU's driver that none is used.
  bool may_be_gpu() const { return may_be_gpu_; }
  /// Reason why several processes do not use existing GPUs; else empty.
  const std::string& why_on_host() const { return why_on_host_; }

 private:
  const SolverChoice& solver_;
  std::future<operators::Device> started_;
  bool may_be_gpu_;
  std::string why_on_host_;
  std::future<void> clocks_;  ///< of a GPU, while the operator is made
};

}  // namespace femcg::solver
