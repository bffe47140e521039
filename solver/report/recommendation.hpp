#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "solver/records/result.hpp"

namespace femcg::solver {

/// A timed operator; candidates share problem, precision and device.
struct Candidate {
  std::string label;
  double median = 0, minimum = 0, maximum = 0;  ///< seconds of a CG iteration, all right-hand sides, or of a product
  double set_up = 0;                            ///< seconds
  double moved_bytes = 0;                       ///< by a product
  double bandwidth_fraction = 0;                ///< least time of a product by the bandwidths over the measured one
};

/// Recommends an operator to solve once (set-up and iterations) and to solve often (iterations only), with reasons, in
/// two sentences. Operators within 3% of the best, or within the spread of both, are reported as ties. `iterations`:
/// expected number of CG iterations; if unknown (0), solving once is not mentioned. Empty for fewer than two
/// candidates.
std::string recommendation(const std::vector<Candidate>& candidates, double iterations, bool of_products);

/// The same for rows of one problem, precision, device and number of right-hand sides.
std::string recommendation(const std::vector<const BenchmarkResult*>& timed);

/// True if a row ties, as above, with the best of the timed rows: to solve once, or by product if there are only
/// products.
bool ties_with_best(const BenchmarkResult& row, const std::vector<const BenchmarkResult*>& timed);

/// Time of an operator to the solution: set-up, and the expected number of CG iterations.
struct TimeToSolution {
  std::string label;
  double seconds = 0;
  std::int64_t solves = 0;  ///< number of successive solves from which on another operator is faster; 0: never
  std::string winner;       ///< the other operator; empty if there is none
};

/// Times to solution of the candidates, in their order.
std::vector<TimeToSolution> times_to_solution(const std::vector<Candidate>& candidates, double iterations);

/// The same for rows of one problem as text, fastest first; empty if iterations are not known, or for fewer than two
/// timed rows.
std::string times_to_solution(const std::vector<const BenchmarkResult*>& timed);

/// Adds the recommendation of every problem in the records of a comparison to the record of the operator that is
/// fastest to solve often, as comparison.recommendation.
void add_recommendations(nlohmann::ordered_json& records);

/// Adds comparison.time_to_solution to every timed record: seconds and, if another operator is faster from some number
/// of solves on, that number and its name. Adds to comparison.auto whether the choice ties with the best.
void add_times_to_solution(nlohmann::ordered_json& records);

}  // namespace femcg::solver
