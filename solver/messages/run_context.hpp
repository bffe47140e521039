#pragma once

#include "operators/distributed/messages/communicator.hpp"
#include "solver/messages/console.hpp"
#include "solver/messages/progress.hpp"

namespace femcg::solver {

/// Context that all steps of a run share.
struct RunContext {
  const operators::Communicator& processes;  ///< 1 to P; one process has Communicator::alone()
  Progress& progress;
  const StopRequested& stop;

  bool alone() const { return processes.size() == 1; }
};

}  // namespace femcg::solver
