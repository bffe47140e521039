#pragma once

#include <vector>

#include "solver/measures/measure.hpp"
#include "solver/problem/problem.hpp"
#include "solver/records/record.hpp"
#include "solver/run/run_solve.hpp"

namespace femcg::solver {

/// Measures probes, fluxes, means, extremes and the heat balance of each solution, and its errors if the case has an
/// exact solution.
void measure_solutions(const Problem& problem, const Probes& probes, Solved& of, Record& record);

/// Rejects a solution whose heat balance is violated by more than its tolerance explains. If even that is large, as
/// with a transfer of 1e14, fluxes are less accurate than u, which a warning says. `heat_lost`: one per load.
void check_balances(const std::vector<double>& heat_lost, double tolerance, Record& record);

}  // namespace femcg::solver
