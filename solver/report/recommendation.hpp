#pragma once

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

/// Which operator to use, to solve once (set-up and iterations) and to solve often (iterations alone), and why: two
/// sentences. Those that are within 3% of the best, or within the spread of both, are said to tie. `iterations` are
/// those that CG is expected to take; where they are not known (0), nothing is said of solving once. Empty where fewer
/// than two were timed.
std::string recommendation(const std::vector<Candidate>& candidates, double iterations, bool of_products);

/// The same of rows of one problem, precision, device and number of right-hand sides.
std::string recommendation(const std::vector<const BenchmarkResult*>& timed);

/// The same for every problem among the records of a comparison: written to the record of the operator that is the
/// fastest to solve often, as comparison.recommendation.
void add_recommendations(nlohmann::ordered_json& records);

}  // namespace femcg::solver
