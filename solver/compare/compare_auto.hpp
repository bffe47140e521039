#pragma once

#include <vector>

#include "solver/benchmark/comparison.hpp"

namespace femcg::solver {

/// Adds to the rows of one comparison the predicted times of `iterations` iterations of CG. Adds the regret to the row
/// that `operator: auto` would choose among the operators timed with default options, on each device. For one
/// right-hand side.
///
/// On several processes the first one predicts for its subdomain, with its part of the total copy bandwidth in the
/// rows; exchange and reductions are not included. A distributed matrix has no predictions.
void add_predictions(std::vector<BenchmarkResult>& rows, const System& system, Precision precision, double iterations,
                     int processes = 1);

}  // namespace femcg::solver
