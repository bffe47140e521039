#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mesh/dofs/function_space.hpp"
#include "solver/coefficients/expression.hpp"

namespace femcg::solver {

/// One expression for the whole domain, or one a region.
struct Field {
  std::optional<Expression> everywhere;
  std::map<std::string, Expression> by_region;
  Place place;
};

/// A field on a mesh: the expression of each region. Throws InputError where a region of the field does not
/// exist, or where one of the mesh has no expression and there is no `where_absent`.
class FieldOnRegions {
 public:
  FieldOnRegions(const Field& field, const std::string& key, const mesh::Mesh& mesh,
                 std::optional<double> where_absent);
  const Expression& of_cell(std::int32_t cell) const { return by_region_[mesh_->cell_regions[cell]]; }
  const std::vector<Expression>& by_region() const { return by_region_; }
  /// True if it is constant on each of them.
  bool constant() const;
  /// Programs that evaluate the field, one a region.
  std::vector<operators::PointProgram> programs() const;

 private:
  const mesh::Mesh* mesh_;
  std::vector<Expression> by_region_;
};

/// The coefficients of the interpolant: the field at the dofs' points. Where regions meet, the last cell that has the
/// dof says which value.
std::vector<double> interpolate(const FieldOnRegions& field, const mesh::FunctionSpace& space);

/// Throws InputError, with the expression's place and the first point, where a value is not above `least` (or equal to
/// it, where allowed).
void require_at_least(const Expression& expression, double least, bool or_equal, std::span<const double> points,
                      std::span<const double> values, const std::string& what);

}  // namespace femcg::solver
