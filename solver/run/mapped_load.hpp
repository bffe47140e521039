#pragma once

#include <span>
#include <vector>

#include "operators/distributed/maps/index_map.hpp"
#include "solver/run/distributed_setup.hpp"

namespace femcg::solver {

/// A load as CG gets it, in the order of the map.
class MappedLoad {
 public:
  /// Together.
  MappedLoad(const SharedRun& of, const Load& load);

  const std::vector<double>& values() const { return values_; }
  /// x of this load as that of the scaled one, and the dofs of what CG makes of it.
  std::vector<double> start(std::span<const double> x, const SharedRun& of) const;
  std::vector<double> dofs(std::vector<double> x, const SharedRun& of, const Load& load) const;

 private:
  std::vector<double> values_;
  int exponent_;
};

}  // namespace femcg::solver
