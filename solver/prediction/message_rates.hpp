#pragma once

#include "operators/backend/device.hpp"
#include "operators/distributed/messages/communicator.hpp"

namespace femcg::solver {

/// Measured speed of messages between two processes.
struct MessageRates {
  operators::Device device = operators::Device::host;  ///< on cuda, GPUs write into each other's memory
  double latency = 0;                                  ///< seconds one way
  double bytes_per_second = 0;                         ///< for long messages, one way
  double sum = 0;                                      ///< seconds of a sum over two processes
};

/// Measures messages between the first two processes. Collective, on two or more processes. On GPUs, one per process,
/// with CG's kernels that send, receive and add up, captured as in CG. Throws MachineError if GPUs cannot write into
/// each other's memory.
MessageRates measure_messages(operators::Device device, const operators::Communicator& communicator);

}  // namespace femcg::solver
