#pragma once

#include <vector>

#include "solver/case/sweep.hpp"
#include "solver/messages/console.hpp"
#include "solver/messages/error.hpp"

namespace femcg::solver {

/// `femcg run` of a case with a `sweep`: solves every point, prints a table and writes study.csv, result.json, run.log
/// and case.yaml into the results folder. Mesh, space, problem and operator stay from one point to the next where its
/// keys leave them as they are; points in a row that differ in the load only are solved at once, as the loads of one
/// case are. A point that fails says why, and the others are solved. What was solved is kept when the user interrupts.
ExitStatus run_study(const Case& base, const std::vector<SweepPoint>& points, const Console& console,
                     const StopRequested& stop);

}  // namespace femcg::solver
