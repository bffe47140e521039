#pragma once

#include <vector>

#include "solver/benchmark/comparison.hpp"

namespace femcg::solver {

/// Adds to the rows of one comparison what they were expected to take in so many iterations of CG, and to the one that
/// `operator: auto` would take of the operators that were timed with their defaults, on each device, its regret. For
/// one right-hand side.
///
/// On several processes these are estimates of the first one for its subdomain, with its part of the copy bandwidth of
/// all, which the rows have; exchange and sums come on top. A matrix that is divided has no estimates.
void add_predictions(std::vector<BenchmarkResult>& rows, const System& system, Precision precision, double iterations,
                     int processes = 1);

}  // namespace femcg::solver
