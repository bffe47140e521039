#pragma once

#include <vector>

#include "operators/distributed/messages/communicator.hpp"
#include "solver/case/sweep.hpp"
#include "solver/messages/console.hpp"
#include "solver/messages/error.hpp"

namespace femcg::solver {

/// `femcg run` of a case with a `sweep`: solves every point, prints a table and writes study.csv, result.json, run.log
/// and case.yaml into the results folder. Mesh, space, problem and operator are reused by the next point as far as its
/// keys do not affect them; consecutive points that differ in the load only are solved at once, like the loads of one
/// case. A point that fails on all processes reports the reason, and the others are solved. If the user interrupts, the
/// solved points are written. Collective; the first process prints and writes.
ExitStatus run_study(const Case& base, const std::vector<SweepPoint>& points, const Console& console,
                     const StopRequested& stop,
                     const operators::Communicator& processes = operators::Communicator::alone());

}  // namespace femcg::solver
