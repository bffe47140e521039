#pragma once

#include <vector>

#include "operators/distributed/messages/communicator.hpp"
#include "solver/case/sweep.hpp"
#include "solver/messages/console.hpp"
#include "solver/messages/error.hpp"

namespace femcg::solver {

/// `femcg run` of a case with a `sweep`: solves every point, prints a table and writes study.csv, result.json, run.log
/// and case.yaml into the results folder. Mesh, space, problem and operator stay from one point to the next where its
/// keys leave them as they are; points in a row that differ in the load only are solved at once, as the loads of one
/// case are. A point that fails, on all processes, says why, and the others are solved. What was solved is kept when
/// the user interrupts. Collective; the first process prints and writes.
ExitStatus run_study(const Case& base, const std::vector<SweepPoint>& points, const Console& console,
                     const StopRequested& stop,
                     const operators::Communicator& processes = operators::Communicator::alone());

}  // namespace femcg::solver
