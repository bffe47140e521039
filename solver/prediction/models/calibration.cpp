#include "solver/prediction/models/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace femcg::solver {

namespace {

/// Geometric interpolation: a^(1 - part) b^part of each factor.
CorrectionFactors between(const CorrectionFactors& a, const CorrectionFactors& b, double part) {
  const auto mean = [&](double x, double y) { return std::pow(x, 1 - part) * std::pow(y, part); };
  return {mean(a.product, b.product), mean(a.iteration, b.iteration), mean(a.assembly, b.assembly),
          mean(a.conversion, b.conversion)};
}

}  // namespace

void Calibration::add(const CorrectionKey& key, double unknowns, const CorrectionFactors& factors) {
  std::vector<Point>& points = points_[key];
  const auto at = std::ranges::lower_bound(points, unknowns, {}, &Point::unknowns);
  if (at != points.end() && at->unknowns == unknowns)
    at->factors = factors;
  else
    points.insert(at, {unknowns, factors});
}

CorrectionFactors Calibration::at(const CorrectionKey& key, double unknowns) const {
  const auto found = points_.find(key);
  if (found == points_.end()) return {};
  const std::vector<Point>& points = found->second;
  const auto more = std::ranges::lower_bound(points, unknowns, {}, &Point::unknowns);
  if (more == points.begin()) return points.front().factors;
  const Point& less = *(more - 1);
  const auto part_to = [&](double end) { return std::log(unknowns / less.unknowns) / std::log(end / less.unknowns); };
  if (more != points.end()) return between(less.factors, more->factors, part_to(more->unknowns));
  if (fitted_unknowns <= less.unknowns) return less.factors;
  return between(less.factors, {}, std::min(1.0, part_to(fitted_unknowns)));
}

nlohmann::ordered_json Calibration::to_json() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& [key, points] : points_) {
    nlohmann::ordered_json sizes = nlohmann::ordered_json::array();
    for (const auto& [unknowns, f] : points)
      sizes.push_back({unknowns, f.product, f.iteration, f.assembly, f.conversion});
    list.push_back({{"operator", key.op},
                    {"cell", mesh::name(key.shape)},
                    {"degree", key.degree},
                    {"word_bytes", key.word_bytes},
                    {"geometry", key.geometry},
                    {"factors", sizes}});
  }
  return {{"fitted_unknowns", fitted_unknowns}, {"corrections", list}};
}

Calibration Calibration::from_json(const nlohmann::ordered_json& json) {
  Calibration made;
  made.fitted_unknowns = json.at("fitted_unknowns").get<double>();
  for (const auto& each : json.at("corrections")) {
    const std::string cell = each.at("cell").get<std::string>();
    const auto shape = std::ranges::find(mesh::all_cell_shapes, cell, [](mesh::CellShape s) { return mesh::name(s); });
    if (shape == mesh::all_cell_shapes.end()) throw std::invalid_argument("a correction of an unknown cell");
    const CorrectionKey key{each.at("operator").get<std::string>(), *shape, each.at("degree").get<int>(),
                            each.at("word_bytes").get<int>(), each.at("geometry").get<std::string>()};
    for (const auto& size : each.at("factors")) {
      const auto numbers = size.get<std::vector<double>>();
      const auto positive = [](double x) { return std::isfinite(x) && x > 0; };
      if (numbers.size() != 5 || !std::ranges::all_of(numbers, positive))
        throw std::invalid_argument("a correction has a wrong length, or a number that cannot be");
      made.add(key, numbers[0], {numbers[1], numbers[2], numbers[3], numbers[4]});
    }
  }
  return made;
}

}  // namespace femcg::solver
