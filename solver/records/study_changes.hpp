#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "solver/records/study_record.hpp"

namespace femcg::solver {

/// How a number of the solution (an extreme, the integral, a flux, u at a probe) changes along some points of a study:
/// those whose cells become smaller while all else stays, or, where no key changes the cells, those of which each
/// differs in one key from the one before.
struct QuantityChanges {
  std::string load;  ///< empty where there are none
  std::string name;
  std::vector<std::size_t> points;
  std::vector<double> values;  ///< of each of them
  /// Observed order of convergence p, for which the values are those of a + b h^p, of each point from the third on; not
  /// a number where they do not converge, and none at all where the cells stay the same.
  std::vector<double> rates;
  double limit = 0;  ///< a, by the last rate (Richardson 1911); not a number where that is none
};

/// The changes that are larger than what CG leaves open.
std::vector<QuantityChanges> changes_of(const StudyRecord& study);

}  // namespace femcg::solver
