#include "solver/records/study_changes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace femcg::solver {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// Quantities of one load at a point of a study, and their accuracy.
struct Solution {
  const Quantities* quantities = nullptr;
  double residual = 0;
};

/// Solutions by load; under "" without loads.
std::vector<std::pair<std::string, Solution>> solutions_of(const StudyPoint& point) {
  std::vector<std::pair<std::string, Solution>> all;
  if (!point.converged()) return all;
  const Record& r = *point.record;
  if (r.loads.empty() && r.quantities) all.push_back({"", {&*r.quantities, r.solve.true_relative_residual}});
  for (const LoadRecord& load : r.loads)
    if (load.quantities) all.push_back({load.name, {&*load.quantities, load.solve.true_relative_residual}});
  return all;
}

struct Value {
  std::string name;
  double value;
  double noise;  ///< possible change by rounding and the tolerance of CG
};

std::vector<Value> values_of(const Solution& of) {
  const Quantities& q = *of.quantities;
  const double left_open = 1e-10 + 10 * of.residual, u = std::max(std::abs(q.minimum), std::abs(q.maximum)) * left_open;
  double flux = 0, volume = 0;
  for (const auto& [name, value] : q.flux) flux = std::max(flux, std::abs(value) * left_open);
  for (const auto& [name, region] : q.regions) volume += region.volume;
  std::vector<Value> values{{"minimum", q.minimum, u}, {"maximum", q.maximum, u}, {"integral", q.integral, volume * u}};
  for (const auto& [name, value] : q.flux) values.push_back({"flux of " + name, value, flux});
  for (const auto& [name, value] : q.probes) values.push_back({"u at " + name, value, u});
  return values;
}

/// Chains of points that end at a point without successor, each with its predecessors (StudyRecord::point_before).
std::vector<std::vector<std::size_t>> chains_of(const StudyRecord& study) {
  std::vector<std::size_t> before(study.points.size(), study.points.size());
  std::vector<char> is_last(study.points.size(), 1);
  for (std::size_t i = 0; i < study.points.size(); ++i)
    if (const auto found = study.point_before(i)) is_last[before[i] = *found] = 0;
  std::vector<std::vector<std::size_t>> chains;
  for (std::size_t last = 0; last < study.points.size(); ++last) {
    if (is_last[last] == 0) continue;
    std::vector<std::size_t> chain;
    for (std::size_t i = last; i < study.points.size(); i = before[i]) chain.push_back(i);
    std::ranges::reverse(chain);
    if (chain.size() > 1) chains.push_back(std::move(chain));
  }
  return chains;
}

double cell_size(const StudyPoint& point) {
  const ProblemSize& size = point.record->problem;
  return std::pow(static_cast<double>(size.cells), -1.0 / size.dimension);
}

/// Exponent p of a + b h^p through three values, by bisection: the ratio of their differences grows with p.
double rate_of(std::span<const double, 3> h, std::span<const double, 3> values) {
  const double wanted = (values[1] - values[0]) / (values[2] - values[1]);
  const auto ratio = [&](double p) { return (std::pow(h[0] / h[1], p) - 1) / (1 - std::pow(h[2] / h[1], p)); };
  double low = 1e-3, high = 20;
  if (!(ratio(low) < wanted && wanted < ratio(high))) return none;
  for (int step = 0; step < 60; ++step) (ratio((low + high) / 2) < wanted ? low : high) = (low + high) / 2;
  return low;
}

void add_rates(QuantityChanges& changes, const StudyRecord& study, const std::vector<double>& noise) {
  changes.limit = none;
  std::vector<double> h;
  for (const std::size_t point : changes.points) h.push_back(cell_size(study.points[point]));
  if (!(h.back() < h.front())) return;
  const std::vector<double>& u = changes.values;
  for (std::size_t i = 2; i < u.size(); ++i) {
    const bool clear = std::abs(u[i] - u[i - 1]) > noise[i] && std::abs(u[i - 1] - u[i - 2]) > noise[i];
    changes.rates.push_back(
        clear ? rate_of(std::span<const double, 3>(&h[i - 2], 3), std::span<const double, 3>(&u[i - 2], 3)) : none);
  }
  if (changes.rates.empty() || std::isnan(changes.rates.back())) return;
  const std::size_t last = u.size() - 1;
  changes.limit = u[last] + (u[last] - u[last - 1]) / (std::pow(h[last - 1] / h[last], changes.rates.back()) - 1);
}

}  // namespace

std::vector<QuantityChanges> changes_of(const StudyRecord& study) {
  std::vector<QuantityChanges> all;
  for (const std::vector<std::size_t>& chain : chains_of(study)) {
    std::vector<QuantityChanges> of_chain;
    std::vector<std::vector<double>> noise;
    for (const std::size_t point : chain)
      for (const auto& [load, solution] : solutions_of(study.points[point]))
        for (const Value& value : values_of(solution)) {
          const auto found = std::ranges::find_if(of_chain, [&, &load = load](const QuantityChanges& each) {
            return each.load == load && each.name == value.name;
          });
          const auto place = static_cast<std::size_t>(found - of_chain.begin());
          if (found == of_chain.end()) {
            of_chain.push_back({load, value.name, {}, {}, {}, none});
            noise.emplace_back();
          }
          of_chain[place].points.push_back(point);
          of_chain[place].values.push_back(value.value);
          noise[place].push_back(value.noise);
        }
    for (std::size_t k = 0; k < of_chain.size(); ++k) {
      const auto [least, most] = std::ranges::minmax(of_chain[k].values);
      if (!(most - least > std::ranges::max(noise[k]))) continue;
      add_rates(of_chain[k], study, noise[k]);
      all.push_back(std::move(of_chain[k]));
    }
  }
  return all;
}

}  // namespace femcg::solver
