#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operators/stored/io/matrix_statistics.hpp"
#include "solver/records/record.hpp"

namespace femcg::solver {

/// Where a matrix came from.
struct MatrixSource {
  std::string name;  ///< of the file
  bool symmetric = false;
  std::string ordering = "given";                ///< or reverse-cuthill-mckee
  std::optional<std::int64_t> bandwidth_before;  ///< as it was given, where it was reordered
};

enum class Outcome { timed, disagrees, failed, not_applicable, interrupted };
std::string_view name(Outcome outcome);

/// That `operator: auto` would take this row, and how that turns out.
struct AutomaticChoice {
  std::string why;          ///< one sentence
  std::string best;         ///< the operator that was measured to be the fastest
  double regret = 0;        ///< seconds over those of the best, less 1
  bool of_solution = true;  ///< of set-up and so many iterations, or of a product
  double iterations = 0;
};

/// Result of one entry: one row of the table, one item of compare.json.
struct BenchmarkResult {
  Record record;
  Outcome outcome = Outcome::interrupted;
  std::string reason;    ///< a sentence, where it was not timed
  bool refused = false;  ///< it failed since what was asked for does not fit, through no fault of the machine
  std::map<std::string, std::string> sweep;
  int right_hand_sides = 1;                          ///< at once; products and `record.footprint` are of all of them
  std::optional<double> agreement, agreement_bound;  ///< an Agreement, once it was checked
  Samples iteration;                 ///< seconds of a CG iteration and right-hand side; empty where CG was not timed
  std::int64_t iteration_bytes = 0;  ///< the least that one CG iteration moves: the product's and the vector passes'
  std::int64_t iteration_link_bytes = 0;               ///< that come from the host with it
  std::optional<double> product_gain, iteration_gain;  ///< speed for each right-hand side over that with one alone
  std::int64_t caching_bytes = 0;    ///< moved by a product if caches live for one block of rows; 0: unknown
  std::optional<double> break_even;  ///< CG iterations (products without CG) that pay for the conversion from csr
  /// Seconds, by the bandwidth model.
  std::optional<double> predicted_product, predicted_iteration, predicted_set_up;
  std::optional<double> expected_iterations;  ///< of CG, until the solution
  std::optional<CgResult> solution;           ///< of CG to the tolerance, once; where preconditioners are swept
  std::optional<AutomaticChoice> automatic;
  std::optional<double> data_reduction;  ///< 1 - stored bytes / those of ellpack (Kreutzer et al. 2012, table 1)
  std::shared_ptr<const operators::MatrixStatistics> matrix;  ///< of the assembled one; null where there is none
  std::shared_ptr<const MatrixSource> source;                 ///< of a matrix from a file

  /// CG iterations per second that the bandwidths allow, of all right-hand sides added up; 0 where CG was not timed.
  double roof() const {
    const double least = record.machine.least_seconds(iteration_bytes, iteration_link_bytes);
    return iteration.empty() || least == 0 ? 0 : right_hand_sides / least;
  }
  /// Measure that entries are ranked by: seconds of a CG iteration and right-hand side, of a product where CG was not
  /// timed.
  const Samples& ranked() const { return iteration.empty() ? record.apply : iteration; }
  /// CG iterations, or products, per second, of all right-hand sides added up.
  double rate() const { return (iteration.empty() ? right_hand_sides : 1) / ranked().median(); }
  /// Seconds from nothing to the solution: set-up of operator and preconditioner, and the loop.
  double seconds_to_solution() const { return record.seconds.set_up() + solution->seconds; }
};

/// Enters what the rows of a comparison say of each other: break-even with the fastest csr of the same device,
/// reduction against ellpack, and the gain from several right-hand sides.
void relate(std::vector<BenchmarkResult>& rows);

}  // namespace femcg::solver
