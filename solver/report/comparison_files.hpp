#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "solver/messages/console.hpp"
#include "solver/report/comparison_report.hpp"

namespace femcg::solver {

/// Output of a comparison: tables on standard output, row by row, and files in the results folder, which at any time
/// contain everything measured.
class ComparisonFiles {
 public:
  /// Throws MachineError if the folder cannot be made or written. On several processes all add their rows, but only one
  /// reports: the others print and write nothing.
  ComparisonFiles(std::filesystem::path directory, const std::optional<Baseline>& baseline, const Console& console,
                  bool reports);

  /// Prints new warnings on standard error.
  void note(const std::vector<std::string>& warnings);
  void add(std::vector<BenchmarkResult> rows);
  /// Prints where the files are and the changes from the baseline. Returns not_converged if an operator disagrees or
  /// the comparison was interrupted, machine_failed if nothing could be timed, else done. Throws InputError if nothing
  /// could be timed because the request does not fit the problem.
  ExitStatus finish(bool interrupted) const;

 private:
  void write() const;
  void say_where(bool interrupted) const;

  std::filesystem::path directory_;
  const std::optional<Baseline>* baseline_;
  Console console_;
  bool reports_;
  std::vector<BenchmarkResult> rows_;
  std::set<std::string> noted_;
};

}  // namespace femcg::solver
