#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mesh/dofs/function_space.hpp"
#include "solver/coefficients/expression.hpp"

namespace femcg::solver {

/// One value for the whole domain, or one per region.
template <class Value>
struct ByRegion {
  std::optional<Value> everywhere;
  std::map<std::string, Value> by_region;
  Place place;
};
using Field = ByRegion<Expression>;

/// The value of each region of a mesh. Throws InputError, for the key of the case, if a region of the field does not
/// exist, or if a region of the mesh has no value and there is no `where_absent`.
template <class Value>
std::vector<Value> on_regions(const ByRegion<Value>& field, const std::string& key, const mesh::Mesh& mesh,
                              const std::optional<Value>& where_absent);

/// A field on a mesh: the expression of each region, by on_regions.
class FieldOnRegions {
 public:
  FieldOnRegions(const Field& field, const std::string& key, const mesh::Mesh& mesh,
                 std::optional<double> where_absent);
  const Expression& of_cell(std::int32_t cell) const { return by_region_[mesh_->cell_regions[cell]]; }
  const std::vector<Expression>& by_region() const { return by_region_; }
  /// True if it is constant on each region.
  bool constant() const;
  /// Programs that evaluate the field, one per region.
  std::vector<operators::PointProgram> programs() const;

 private:
  const mesh::Mesh* mesh_;
  std::vector<Expression> by_region_;
};

/// Coefficients of the interpolant: values of the field at the dofs' points. If a dof is shared by regions, the last
/// cell determines its value.
std::vector<double> interpolate(const FieldOnRegions& field, const mesh::FunctionSpace& space);

/// Throws InputError, with the expression's place and the first point, if a value is not above `least` (or equal to it,
/// if allowed). Of several values at a point, `stride` apart, the first counts.
void require_at_least(const Expression& expression, double least, bool or_equal, std::span<const double> points,
                      std::span<const double> values, const std::string& what, std::size_t stride = 1);

}  // namespace femcg::solver
