#pragma once

#include <compare>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "mesh/element/cell_shape.hpp"

namespace femcg::solver {

/// Factors for the bandwidth model's seconds: measured over modelled.
struct CorrectionFactors {
  double product = 1;
  double iteration = 1;  ///< for an iteration predicted from the corrected product
  double assembly = 1, conversion = 1;
};

/// Key of a correction: an operator with its default options.
struct CorrectionKey {
  std::string op;
  mesh::CellShape shape = mesh::CellShape::quadrilateral;
  int degree = 1;
  int word_bytes = 8;
  std::string geometry = {};  ///< stored part of the cells' geometry (geometry_of); empty for a matrix

  auto operator<=>(const CorrectionKey&) const = default;
};

/// Corrections of the bandwidth model for a device, measured on boxes of some sizes.
class Calibration {
 public:
  /// Adds a correction; replaces one of the same size.
  void add(const CorrectionKey& key, double unknowns, const CorrectionFactors& factors);
  /// Interpolates linearly in the logarithms between measured sizes; all 1 without measurements. Below the smallest
  /// size, that of the smallest. Above the largest size, returns to 1 at `fitted_unknowns`, for which the model's
  /// constants were fitted; constant if that is 0.
  CorrectionFactors at(const CorrectionKey& key, double unknowns) const;
  bool empty() const { return points_.empty(); }
  double fitted_unknowns = 0;

  nlohmann::ordered_json to_json() const;
  /// Throws std::exception unless `json` was made by to_json().
  static Calibration from_json(const nlohmann::ordered_json& json);

 private:
  struct Point {
    double unknowns;
    CorrectionFactors factors;
  };
  std::map<CorrectionKey, std::vector<Point>> points_;  ///< by ascending unknowns
};

}  // namespace femcg::solver
