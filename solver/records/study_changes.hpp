#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "solver/records/study_record.hpp"

namespace femcg::solver {

/// Changes of a quantity of the solution (an extreme, the integral, a flux, u at a probe) along a chain of points of a
/// study: points that differ in cell size only, or, if no key changes the cells, points that each differ in one key
/// from the one before.
struct QuantityChanges {
  std::string load;  ///< empty if there are none
  std::string name;
  std::vector<std::size_t> points;
  std::vector<double> values;  ///< [points]
  /// Observed order of convergence p of values a + b h^p, for each point from the third on; NaN if they do not
  /// converge. Empty if the cells are the same.
  std::vector<double> rates;
  double limit = 0;  ///< a, by the last rate (Richardson 1911); NaN if there is none
};

/// Changes that are larger than the inaccuracy of CG.
std::vector<QuantityChanges> changes_of(const StudyRecord& study);

}  // namespace femcg::solver
