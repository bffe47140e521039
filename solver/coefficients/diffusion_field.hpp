#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "operators/forms/diffusion.hpp"
#include "solver/coefficients/field.hpp"

namespace femcg::solver {

/// A symmetric tensor: expressions of its entries xx, yy, zz, xy, xz, yz, of which those off the diagonal are 0 if not
/// given, along axes.
struct TensorExpression {
  std::map<std::string, Expression> entries;
  /// Directions of x', and in space of another vector of the plane of x' and y'; none for the axes of space.
  std::vector<std::array<double, 3>> axes;
  std::size_t axis_entries = 3;  ///< numbers that each of the axes was given by
  Place place;
  std::string key;
};

/// Diffusion of a region: a multiple of the identity, or a tensor.
class RegionDiffusion {
 public:
  RegionDiffusion(Expression multiple) : multiple_(std::move(multiple)) {}  // NOLINT: an expression is a diffusion
  RegionDiffusion(double multiple) : multiple_(multiple) {}                 // NOLINT: so is a number
  RegionDiffusion(TensorExpression tensor) : multiple_(0.0), tensor_(std::move(tensor)) {}  // NOLINT: so is a tensor

  const Place& place() const { return tensor_ ? tensor_->place : multiple_.place(); }
  const Expression& multiple() const { return multiple_; }
  /// Empty for a multiple of the identity.
  const std::optional<TensorExpression>& tensor() const { return tensor_; }

 private:
  Expression multiple_;
  std::optional<TensorExpression> tensor_;
};

using DiffusionField = ByRegion<RegionDiffusion>;

/// The diffusion on a mesh. Throws InputError if a region is unknown or has no diffusion, if a tensor has not the
/// entries or the axes of the mesh's dimension, or if a constant value is not positive definite.
class DiffusionOnRegions {
 public:
  DiffusionOnRegions(const DiffusionField& field, const mesh::Mesh& mesh);

  int entries() const { return entries_; }  ///< operators::Diffusion::entries
  /// True if it is constant on each region.
  bool constant() const;
  std::optional<operators::DiffusionValue> constant_in(std::int32_t cell) const { return of_cell(cell).constant; }
  /// Values at points of a cell, [points][entries]. Thread-safe. Throws InputError if one is not finite.
  void evaluate(std::int32_t cell, std::span<const double> points, std::span<double> values) const;
  /// Throws InputError, with the first such point, if a value at points of a cell is not positive definite.
  void require_positive(std::int32_t cell, std::span<const double> points, std::span<const double> values) const;
  /// Replaces gradients at points of a cell, [points][3], by kappa times them. Throws as evaluate does.
  void multiply(std::int32_t cell, std::span<const double> points, std::span<double> gradients) const;
  /// Programs that evaluate it, one per region; empty for a tensor.
  std::vector<operators::PointProgram> programs() const;

 private:
  struct Region {
    std::vector<Expression> entries;  ///< one, or the upper triangle row by row, along the axes
    std::vector<double> axes;         ///< [space][axes], columns of length 1; empty for those of space
    std::optional<operators::DiffusionValue> constant;
    std::string key;
    Place place;
  };
  Region tensor_region(const TensorExpression& from) const;
  void evaluate(const Region& region, std::span<const double> points, std::span<double> values) const;
  void require_positive(const Region& region, std::span<const double> points, std::span<const double> values) const;
  const Region& of_cell(std::int32_t cell) const { return regions_[mesh_->cell_regions[cell]]; }

  const mesh::Mesh* mesh_;
  int dimension_, entries_ = 1;
  std::vector<Region> regions_;
};

/// Names of a tensor's entries in `dimension` dimensions, those on the diagonal first.
std::vector<std::string> tensor_entries(int dimension);

}  // namespace femcg::solver
