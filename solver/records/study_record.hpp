#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "solver/records/record.hpp"

namespace femcg::solver {

/// One combination of a study's values, with its results.
struct StudyPoint {
  std::map<std::string, std::string> values;
  std::optional<Record> record;  ///< if solved, possibly interrupted
  std::string failure;           ///< a sentence, if it could not be solved
  double seconds = 0;            ///< wall time; divided equally among points that are solved at once
  int together = 1;              ///< number of points solved at once with it, itself included
  std::string directory;         ///< of its own results, if it has a folder

  bool converged() const { return record && record->solve.reason == StopReason::converged; }
  std::string status() const;
};

/// Orders of convergence of the errors in the cell size h = (number of cells)^(-1/dimension).
struct ObservedRate {
  double l2 = 0, h1 = 0;
};

/// All points of a case's `sweep`, in the order written.
struct StudyRecord {
  Record common;                  ///< of the whole study: command, case, title, machine, start
  std::vector<std::string> keys;  ///< full paths, in the order written
  std::vector<StudyPoint> points;
  double seconds = 0;
  std::string directory;

  /// Predecessor for comparing a point: the nearest with fewer cells that differs only in keys that change the cells
  /// (mesh.refine, mesh.size, mesh.box.cells, mesh.box.dofs); without such keys, the nearest that differs in one key.
  /// Empty if there is no such solved point.
  std::optional<std::size_t> point_before(std::size_t point) const;
  /// Rates relative to the predecessor with fewer cells; empty without one, or without an exact solution.
  std::optional<ObservedRate> rate(std::size_t point) const;
};

nlohmann::ordered_json to_json(const StudyRecord& study);
/// CSV with a line per point and load: values of the keys, sizes, seconds, iterations, quantities and errors.
std::string study_csv(const StudyRecord& study);
/// Table with a row per point, at most `width` characters wide: the values always fit, the last columns are dropped if
/// necessary.
std::string summary(const StudyRecord& study, std::size_t width);

}  // namespace femcg::solver
