#pragma once

#include <future>
#include <string>

#include "operators/backend/device.hpp"
#include "operators/distributed/messages/communicator.hpp"
#include "solver/case/case.hpp"

namespace femcg::solver {

/// The device of a run, as a case asks for it. A GPU takes half a second to start, which a thread does concurrently
/// with the processor's first steps: mesh, space and load. No GPU may be used until device() has returned.
class DeviceStart {
 public:
  /// All must outlive it. Several processes choose at once (choose_shared_device), as one does where no GPU can be
  /// there, so that what is wrong is said before anything is done. Throws as device(). Collective.
  DeviceStart(const SolverChoice& solver, const DistributionChoice& distribution,
              const operators::Communicator& processes);

  /// Lets the thread begin. Not before a process is forked, which would inherit locks of the driver's libraries.
  void begin();
  /// Throws InputError where the operator has no version for the device, and MachineError where a GPU that is asked for
  /// is not there.
  operators::Device device();
  /// False where it is known without a GPU's driver that none is used.
  bool may_be_gpu() const { return may_be_gpu_; }
  /// Why there are GPUs that several processes do not use; else empty.
  const std::string& why_on_host() const { return why_on_host_; }

 private:
  const SolverChoice& solver_;
  std::future<operators::Device> started_;
  bool may_be_gpu_;
  std::string why_on_host_;
  std::future<void> clocks_;  ///< of a GPU, while the operator is made
};

}  // namespace femcg::solver
