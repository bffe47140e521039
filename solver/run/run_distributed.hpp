#pragma once

#include "operators/distributed/messages/communicator.hpp"
#include "solver/case/case.hpp"
#include "solver/messages/console.hpp"
#include "solver/messages/error.hpp"

namespace femcg::solver {

/// `femcg run` on several processes, which all call it with the same case: each has a share of the mesh, of
/// the operator made from them and CG's vectors; the first one speaks and writes the results folder. Throws
/// InputError for what a case asks for that needs one process.
ExitStatus run_distributed(const Case& resolved, const Console& console, const StopRequested& stop,
                           const operators::Communicator& communicator);

}  // namespace femcg::solver
