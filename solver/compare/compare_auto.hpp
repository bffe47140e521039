#pragma once

#include <vector>

#include "operators/distributed/maps/index_map.hpp"
#include "solver/benchmark/comparison.hpp"
#include "solver/case/case.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// Adds to the rows of one comparison what they were expected to take in so many iterations of CG, and to the one that
/// `operator: auto` would take of the operators that were timed with their defaults, on each device, its regret. For
/// one right-hand side.
void add_predictions(std::vector<BenchmarkResult>& rows, const System& system, Precision precision, double iterations);

/// What several processes compare operators on.
struct SharedRun {
  const Case& resolved;
  const Problem& problem;
  const operators::FormShare& share;
  const operators::Communicator& communicator;
};

/// The same of what several processes have compared on one device, on the first of them: what it expects of its own
/// cells, with its part of what all copy at the same time, as the rows have it. Exchange and sums come on top.
void add_predictions(std::vector<BenchmarkResult>& rows, const SharedRun& of, double iterations);

}  // namespace femcg::solver
