#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "solver/records/result.hpp"

namespace femcg::solver {

/// An operator among those that were timed on one problem, in one precision, on one device.
struct Candidate {
  std::string label;
  double median = 0, minimum = 0, maximum = 0;  ///< seconds of a CG iteration, with all right-hand sides; of a product
  double set_up = 0;                            ///< seconds
  double moved_bytes = 0;                       ///< by a product
  double bandwidth_fraction = 0;                ///< of the least time that the bandwidths allow a product
};

/// Recommends an operator to solve once (set-up and iterations) and to solve often (iterations alone), with reasons, in
/// two sentences. Those that are within 3% of the best, or within the spread of both, are said to tie. `iterations` are
/// those that CG is expected to take; where they are not known (0), nothing is said of solving once. Empty where fewer
/// than two were timed.
std::string recommendation(const std::vector<Candidate>& candidates, double iterations, bool of_products);

/// The same of rows of one problem, precision, device and number of right-hand sides.
std::string recommendation(const std::vector<const BenchmarkResult*>& timed);

/// True if a row ties, as above, with the best of those that were timed: to solve once, or by product where that is all
/// there is.
bool ties_with_best(const BenchmarkResult& row, const std::vector<const BenchmarkResult*>& timed);

/// How long an operator takes from the problem to its solution: set-up, and the iterations that CG is expected to take.
struct TimeToSolution {
  std::string label;
  double seconds = 0;
  std::int64_t solves =
      0;               ///< of as many right-hand sides, one after the other, for which another takes less; 0: never
  std::string winner;  ///< the other, then; empty if there is none
};

/// Times to solution of the candidates, in their order.
std::vector<TimeToSolution> times_to_solution(const std::vector<Candidate>& candidates, double iterations);

/// The same of rows of one problem as text, those that are there first before others; empty where iterations are not
/// known, or fewer than two were timed.
std::string times_to_solution(const std::vector<const BenchmarkResult*>& timed);

/// The recommendation of every problem among the records of a comparison: written to the record of the operator that is
/// the fastest to solve often, as comparison.recommendation.
void add_recommendations(nlohmann::ordered_json& records);

/// To every record that was timed, as comparison.time_to_solution: seconds, and, where another operator takes less from
/// some number of solves on, that number and its name. To comparison.auto whether that choice ties with the best.
void add_times_to_solution(nlohmann::ordered_json& records);

}  // namespace femcg::solver
