#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "solver/records/record.hpp"

namespace femcg::solver {

/// One combination of a study's values, and what came out.
struct StudyPoint {
  std::map<std::string, std::string> values;
  std::optional<Record> record;  ///< where it was solved, if only as far as the user let it
  std::string failure;           ///< a sentence, where it could not be solved
  double seconds = 0;            ///< wall time; of points that are solved together in equal shares
  int together = 1;              ///< points that were solved at once with it
  std::string directory;         ///< of its own results, where it has them

  bool converged() const { return record && record->solve.reason == StopReason::converged; }
  std::string status() const;
};

/// How fast errors fall with the size of cells h, which is the number of cells to the power of -1/dimension.
struct ObservedRate {
  double l2 = 0, h1 = 0;
};

/// All points that a case's `sweep` makes, in the order written.
struct StudyRecord {
  Record common;                  ///< of the study: command, case, title, machine, start
  std::vector<std::string> keys;  ///< whole paths, in the order written
  std::vector<StudyPoint> points;
  double seconds = 0;
  std::string directory;

  /// The point before that a point is to be seen against: the nearest that has fewer cells and differs only in keys
  /// that change the cells (mesh.refine, mesh.size, mesh.box.cells, mesh.box.dofs); where no key does, the nearest that
  /// differs in one key. Nothing where neither was solved.
  std::optional<std::size_t> point_before(std::size_t point) const;
  /// Against the point before that has fewer cells; nothing where there is none, or no exact solution.
  std::optional<ObservedRate> rate(std::size_t point) const;
};

nlohmann::ordered_json to_json(const StudyRecord& study);
/// A line for each point, and load, with the values of the keys, sizes, seconds, iterations, quantities and errors.
std::string study_csv(const StudyRecord& study);
/// A table with a row for each point, at most so many characters wide: where it is too narrow for all columns, the
/// values stay and the last columns go.
std::string summary(const StudyRecord& study, std::size_t width);

}  // namespace femcg::solver
