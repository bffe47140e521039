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

/// Origin of a matrix.
struct MatrixSource {
  std::string name;  ///< of the file
  bool symmetric = false;
  std::string ordering = "given";                ///< or reverse-cuthill-mckee
  std::optional<std::int64_t> bandwidth_before;  ///< of the original order, if reordered
};

enum class Outcome { timed, disagrees, failed, not_applicable, interrupted };
std::string_view name(Outcome outcome);

/// Decision of `operator: auto` for this row, and its evaluation.
struct AutomaticChoice {
  std::string why;          ///< one sentence
  std::string best;         ///< the fastest operator as measured
  double regret = 0;        ///< seconds over those of the best, minus 1
  bool of_solution = true;  ///< in the time of set-up and `iterations` iterations; false: of a product
  double iterations = 0;
};

/// Result of one entry: a row of the table, an item of compare.json.
struct BenchmarkResult {
  Record record;
  Outcome outcome = Outcome::interrupted;
  std::string reason;    ///< a sentence, if it was not timed
  bool refused = false;  ///< failed because the request does not fit the problem, through no fault of the machine
  std::map<std::string, std::string> sweep;
  int right_hand_sides = 1;                          ///< at once; products and `record.footprint` are for all of them
  std::optional<double> agreement, agreement_bound;  ///< of an Agreement, once checked
  Samples iteration;                      ///< seconds of a CG iteration per right-hand side; empty if CG was not timed
  std::int64_t iteration_bytes = 0;       ///< least traffic of a CG iteration: product and vector kernels
  std::int64_t iteration_link_bytes = 0;  ///< of these, bytes from the host
  std::optional<double> product_gain, iteration_gain;  ///< speed per right-hand side over that with a single one
  std::int64_t caching_bytes = 0;    ///< bytes moved by a product if caches last for one block of rows; 0: unknown
  std::optional<double> break_even;  ///< CG iterations (products without CG) that amortise the conversion from csr
  /// Seconds as predicted by the bandwidth model.
  std::optional<double> predicted_product, predicted_iteration, predicted_set_up;
  std::optional<double> expected_iterations;  ///< of CG, to the solution
  std::optional<CgResult> solution;           ///< of CG to the tolerance, once; if preconditioners are swept
  std::optional<AutomaticChoice> automatic;
  std::optional<double> data_reduction;  ///< 1 - stored bytes / those of ellpack (Kreutzer et al. 2012, table 1)
  std::shared_ptr<const operators::MatrixStatistics> matrix;  ///< of the assembled matrix; null if there is none
  std::shared_ptr<const MatrixSource> source;                 ///< of a matrix from a file

  /// CG iterations per second that the bandwidths allow, summed over all right-hand sides; 0 if CG was not timed.
  double roof() const {
    const double least = record.machine.least_seconds(iteration_bytes, iteration_link_bytes);
    return iteration.empty() || least == 0 ? 0 : right_hand_sides / least;
  }
  /// Measure by which entries are ranked: seconds of a CG iteration per right-hand side, or of a product if CG was not
  /// timed.
  const Samples& ranked() const { return iteration.empty() ? record.apply : iteration; }
  /// CG iterations, or products, per second, summed over all right-hand sides.
  double rate() const { return (iteration.empty() ? right_hand_sides : 1) / ranked().median(); }
  /// Seconds to the solution: set-up of operator and preconditioner, and the loop.
  double seconds_to_solution() const { return record.seconds.set_up() + solution->seconds; }
};

/// Adds the quantities that relate rows of a comparison: break-even with the fastest csr of the same device, data
/// reduction relative to ellpack, and the gain from several right-hand sides.
void relate(std::vector<BenchmarkResult>& rows);

}  // namespace femcg::solver
