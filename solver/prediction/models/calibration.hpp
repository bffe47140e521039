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
  double iteration = 1;  ///< of an iteration that is predicted from the corrected product
  double assembly = 1, conversion = 1;
};

/// Key of a correction: an operator with its defaults.
struct CorrectionKey {
  std::string op;
  mesh::CellShape shape = mesh::CellShape::quadrilateral;
  int degree = 1;
  int word_bytes = 8;
  std::string geometry = {};  ///< what is stored of the cells (geometry_of); empty for a matrix

  auto operator<=>(const CorrectionKey&) const = default;
};

/// Corrections of the bandwidth model for a device, as they were measured on boxes of some sizes.
class Calibration {
 public:
  /// In the place of what there is of this size.
  void add(const CorrectionKey& key, double unknowns, const CorrectionFactors& factors);
  /// Between measured sizes linear in the logarithms; all 1 where nothing was measured. Below the smallest they are the
  /// smallest's; above the largest they go back to 1 at `fitted_unknowns`, which the model's constants are of, and stay
  /// where that is none.
  CorrectionFactors at(const CorrectionKey& key, double unknowns) const;
  bool empty() const { return points_.empty(); }
  double fitted_unknowns = 0;

  nlohmann::ordered_json to_json() const;
  /// Throws std::exception where it is not one that to_json() made.
  static Calibration from_json(const nlohmann::ordered_json& json);

 private:
  struct Point {
    double unknowns;
    CorrectionFactors factors;
  };
  std::map<CorrectionKey, std::vector<Point>> points_;  ///< by ascending unknowns
};

}  // namespace femcg::solver
