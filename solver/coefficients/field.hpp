#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mesh/dofs/function_space.hpp"
#include "solver/coefficients/expression.hpp"

namespace femcg::solver {

/// One expression for the whole domain, or one per region.
struct Field {
  std::optional<Expression> everywhere;
  std::map<std::string, Expression> by_region;
  Place place;
};

/// A field on a mesh: the expression of each region. Throws InputError if a region of the field does not exist, or if a
/// region of the mesh has no expression and there is no `where_absent`.
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
/// if allowed).
void require_at_least(const Expression& expression, double least, bool or_equal, std::span<const double> points,
                      std::span<const double> values, const std::string& what);

}  // namespace femcg::solver
