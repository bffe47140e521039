#pragma once

#include <vector>

#include "operators/distributed/messages/communicator.hpp"
#include "solver/case/case.hpp"
#include "solver/messages/console.hpp"
#include "solver/messages/error.hpp"

namespace femcg::solver {

/// `femcg predict CASE.yaml --processes 2,8`, on two processes or more, between which messages are measured: predicts
/// the time of a CG iteration on these numbers of processes. The operator is the case's, or auto's choice. Prints a
/// table.
ExitStatus predict_scaling(const Case& resolved, const std::vector<int>& processes, const Console& console,
                           const operators::Communicator& communicator);

}  // namespace femcg::solver
