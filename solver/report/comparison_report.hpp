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
  /// Reads a compare.json. Throws InputError if it does not exist or is something else.
  explicit Baseline(const std::filesystem::path& file);

  struct Change {
    Verdict verdict = Verdict::same;
    double ratio = 1;  ///< old over new seconds, of the medians
  };
  /// Change relative to the same operator on the same problem, in the same precision on the same kind of device. Faster
  /// or slower only if the ranges of the repetitions do not overlap and the medians differ by more than 3%. Empty
  /// unless both have at least two repetitions.
  std::optional<Change> change(const BenchmarkResult& row) const;
  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  struct Times {
    double fastest, median, slowest;  ///< seconds of a CG iteration, or of a product
  };
  std::map<std::string, Times> times_;  ///< by key of the measurement
};

/// First lines of a comparison: the system and the machine.
std::string opening(const Record& record);

/// Table of the rows for 100 columns or more: one per problem, precision and device, fastest first, followed by the
/// rows that were not timed and the reasons.
std::string table(const std::vector<BenchmarkResult>& rows);

/// Table of preconditioners and operators by time to solution, if a comparison has whole solves; else empty.
std::string solutions_table(const std::vector<BenchmarkResult>& rows);

/// Changes relative to a baseline that exceed the spread of both.
std::string changes(const std::vector<BenchmarkResult>& rows, const Baseline& baseline);

/// Records of compare.json.
nlohmann::ordered_json to_json(const std::vector<BenchmarkResult>& rows, const Baseline* baseline);

/// Records of a stored compare.json. Throws InputError if it does not exist, is something else, or has another schema.
nlohmann::ordered_json read_comparison(const std::filesystem::path& file);
/// The same; the record of a result.json gives a list with one record.
nlohmann::ordered_json read_comparison_or_run(const std::filesystem::path& file);
/// Error for a file that is no comparison.
InputError not_a_comparison(const std::filesystem::path& file);

/// compare.csv: a line per record of compare.json.
std::string to_csv(const nlohmann::ordered_json& records);

}  // namespace femcg::solver
