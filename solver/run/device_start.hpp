#pragma once

#include <future>

#include "operators/backend/device.hpp"
#include "solver/case/case.hpp"

namespace femcg::solver {

/// The device of a run, as a case asks for it. A GPU takes half a second to start, which a thread of its own does
/// beside what the processor has to do first: mesh, space and load. That works with no GPU until device() has returned.
class DeviceStart {
 public:
  /// The case must outlive it. Where no GPU can be there the device is decided at once, so that what is wrong is said
  /// before anything is done. Throws as device().
  explicit DeviceStart(const Case& resolved);

  /// Lets the thread begin. Not before a process is forked, to which locks of the driver's libraries would be left as
  /// they are.
  void begin();
  /// Throws InputError where the operator has no version for the device, and MachineError where a GPU that is asked for
  /// is not there.
  operators::Device device();

 private:
  const Case& resolved_;
  std::future<operators::Device> started_;
};

}  // namespace femcg::solver
