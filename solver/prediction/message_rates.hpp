#pragma once

#include "operators/backend/device.hpp"
#include "operators/distributed/messages/communicator.hpp"

namespace femcg::solver {

/// How fast messages between two processes are, as it was measured.
struct MessageRates {
  operators::Device device = operators::Device::host;  ///< GPUs write into each other's memory
  double latency = 0;                                  ///< seconds from one to the other
  double bytes_per_second = 0;                         ///< of long messages, one way
  double sum = 0;                                      ///< seconds of a sum over two processes
};

/// Measured between the first two processes; together, of two or more. On GPUs, one for each process, by the kernels
/// that send, receive and add up in CG, recorded as they are there. Throws MachineError where GPUs cannot write into
/// each other's memory.
MessageRates measure_messages(operators::Device device, const operators::Communicator& communicator);

}  // namespace femcg::solver
