#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "solver/messages/console.hpp"
#include "solver/report/comparison_report.hpp"

namespace femcg::solver {

/// Where the rows of a comparison go: tables on standard output as they come, and the files of the results folder,
/// which hold at any time everything that was measured.
class ComparisonFiles {
 public:
  /// Throws MachineError where the folder cannot be made or written. Of several processes, all of which add their rows,
  /// one reports: the others print and write nothing.
  ComparisonFiles(std::filesystem::path directory, const std::optional<Baseline>& baseline, const Console& console,
                  bool reports);

  /// Says on standard error those that it has not said yet.
  void note(const std::vector<std::string>& warnings);
  void add(std::vector<BenchmarkResult> rows);
  /// Says where the files are and what changed against the baseline. The status: not_converged where an operator
  /// disagrees or the comparison was interrupted, machine_failed where nothing could be timed, else done. Throws
  /// InputError where nothing could be timed since what was asked for does not fit.
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
