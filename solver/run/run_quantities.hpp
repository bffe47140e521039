#pragma once

#include <vector>

#include "solver/measures/measure.hpp"
#include "solver/problem/problem.hpp"
#include "solver/records/record.hpp"
#include "solver/run/run_solve.hpp"

namespace femcg::solver {

/// Probes, fluxes, means, extremes and the heat balance of each solution, and its errors where the case knows u.
void measure_solutions(const Problem& problem, const Probes& probes, Solved& of, Record& record);

/// A solution whose heat balance is open by more than its tolerance accounts for is none. Where that is much, as with a
/// transfer of 1e14, fluxes are known less exactly than u, which a warning says. `heat_lost`: of each load.
void check_balances(const std::vector<double>& heat_lost, double tolerance, Record& record);

}  // namespace femcg::solver
