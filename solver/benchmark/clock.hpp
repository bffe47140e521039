#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "operators/distributed/messages/communicator.hpp"

namespace femcg::solver {

/// Seconds of a monotonic clock.
inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Time of the slowest process, in seconds. Collective.
inline double slowest(const operators::Communicator& communicator, double seconds) {
  return std::ranges::max(communicator.gathered(std::vector{seconds})).front();
}

}  // namespace femcg::solver
