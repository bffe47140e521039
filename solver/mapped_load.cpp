#include "solver/mapped_load.hpp"

#include <utility>

#include "solver/problem/scaled_load.hpp"

namespace femcg::solver {

using operators::IndexMap;

namespace {

/// The unknowns of this process in the order of the map.
std::vector<double> to_map(std::span<const double> x, const IndexMap& map) {
  std::vector<double> ordered;
  ordered.reserve(map.unknowns.size());
  for (const std::int32_t unknown : map.unknowns) ordered.push_back(x[unknown]);
  return ordered;
}
std::vector<double> from_map(std::span<const double> ordered, const IndexMap& map) {
  std::vector<double> x(map.unknowns.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[map.unknowns[i]] = ordered[i];
  return x;
}

}  // namespace

MappedLoad::MappedLoad(const SharedRun& of, const Load& load) {
  const ScaledLoad scaled = scaled_load(load.values(), of.problem.shared());
  exponent_ = scaled.exponent;
  values_ = to_map(scaled.values, of.share.map);
}

std::vector<double> MappedLoad::start(std::span<const double> x, const SharedRun& of) const {
  std::vector<double> scaled = to_map(x, of.share.map);
  scale(scaled, exponent_);
  return scaled;
}

std::vector<double> MappedLoad::dofs(std::vector<double> x, const SharedRun& of, const Load& load) const {
  scale(x, -exponent_);
  return of.problem.to_dofs(from_map(x, of.share.map), load);
}

std::vector<double> MappedLoad::residual(const std::vector<double>& x,
                                         operators::DistributedReference& reference) const {
  std::vector<double> r = reference.apply(x);
  for (std::size_t i = 0; i < r.size(); ++i) r[i] = values_[i] - r[i];
  return r;
}

}  // namespace femcg::solver
