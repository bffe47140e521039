#include "solver/run/mapped_load.hpp"

#include <utility>

#include "solver/problem/scaled_load.hpp"

namespace femcg::solver {

MappedLoad::MappedLoad(const SharedRun& of, const Load& load) {
  const ScaledLoad scaled = scaled_load(load.values(), of.problem.shared());
  exponent_ = scaled.exponent;
  values_ = operators::to_map(scaled.values(), of.share.map);
}

std::vector<double> MappedLoad::start(std::span<const double> x, const SharedRun& of) const {
  std::vector<double> scaled = operators::to_map(x, of.share.map);
  scale(scaled, exponent_);
  return scaled;
}

std::vector<double> MappedLoad::dofs(std::vector<double> x, const SharedRun& of, const Load& load) const {
  scale(x, -exponent_);
  return of.problem.to_dofs(operators::from_map(x, of.share.map), load);
}

}  // namespace femcg::solver
