#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "solver/messages/error.hpp"
#include "solver/records/result.hpp"

namespace femcg::solver {

enum class Verdict { same, faster, slower };
std::string_view name(Verdict verdict);

/// Measurements of an earlier comparison.
class Baseline {
 public:
  /// Reads a compare.json. Throws InputError where there is none or it is something else.
  explicit Baseline(const std::filesystem::path& file);

  struct Change {
    Verdict verdict = Verdict::same;
    double ratio = 1;  ///< old seconds over new seconds, of the medians
  };
  /// Against the same operator on the same problem, in the same precision on the same kind of device. Faster or slower
  /// only where the ranges from the fastest to the slowest repetition do not overlap and the medians differ by more
  /// than 3%. Nothing where one of the two has less than two repetitions of it.
  std::optional<Change> change(const BenchmarkResult& row) const;
  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  struct Times {
    double fastest, median, slowest;  ///< seconds of a CG iteration, or of a product
  };
  std::map<std::string, Times> times_;  ///< by what was measured
};

/// First lines of a comparison: the system, and the machine.
std::string opening(const Record& record);

/// The rows of a comparison as a person reads them at 100 columns: a table for each problem, precision and device, the
/// fastest first, then those that were not timed and why.
std::string table(const std::vector<BenchmarkResult>& rows);

/// Preconditioners and operators by the time from nothing to the solution, where a comparison has whole solves; else
/// empty.
std::string solutions_table(const std::vector<BenchmarkResult>& rows);

/// Changes against a baseline, beyond the spread of both.
std::string changes(const std::vector<BenchmarkResult>& rows, const Baseline& baseline);

/// The records of compare.json, which has one a line.
nlohmann::ordered_json to_json(const std::vector<BenchmarkResult>& rows, const Baseline* baseline);

/// The records of a compare.json that was written before. Throws InputError where there is none, it is something else,
/// or it has another schema.
nlohmann::ordered_json read_comparison(const std::filesystem::path& file);
/// The same, or the record of a result.json as the one record of a list.
nlohmann::ordered_json read_comparison_or_run(const std::filesystem::path& file);
/// The error for a file that is no comparison.
InputError not_a_comparison(const std::filesystem::path& file);

/// compare.csv: a line per record of compare.json.
std::string to_csv(const nlohmann::ordered_json& records);

}  // namespace femcg::solver
