#include "solver/coefficients/field.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mesh/base/counting.hpp"
#include "mesh/base/first_failure.hpp"
#include "mesh/base/pages.hpp"
#include "solver/coefficients/diffusion_field.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::solver {

template <class Value>
std::vector<Value> on_regions(const ByRegion<Value>& field, const std::string& key, const mesh::Mesh& mesh,
                              const std::optional<Value>& where_absent) {
  std::vector<Value> values;
  std::vector<std::string> problems;
  for (const auto& [region, value] : field.by_region)
    if (std::find(mesh.region_names.begin(), mesh.region_names.end(), region) == mesh.region_names.end())
      problems.push_back(at_place(value.place(), fmt::format("{}: the mesh has no region {}{}", key, in_quotes(region),
                                                             did_you_mean_part(region, mesh.region_names))));
  for (const std::string& region : mesh.region_names) {
    const auto own = field.by_region.find(region);
    if (own != field.by_region.end())
      values.push_back(own->second);
    else if (field.everywhere)
      values.push_back(*field.everywhere);
    else if (where_absent)
      values.push_back(*where_absent);
    else
      problems.push_back(
          at_place(field.place, fmt::format("{} has no value for region {} of the mesh", key, in_quotes(region))));
  }
  if (!problems.empty()) throw InputError(problems);
  return values;
}

template std::vector<Expression> on_regions(const ByRegion<Expression>&, const std::string&, const mesh::Mesh&,
                                            const std::optional<Expression>&);
template std::vector<RegionDiffusion> on_regions(const ByRegion<RegionDiffusion>&, const std::string&,
                                                 const mesh::Mesh&, const std::optional<RegionDiffusion>&);

FieldOnRegions::FieldOnRegions(const Field& field, const std::string& key, const mesh::Mesh& mesh,
                               std::optional<double> where_absent)
    : mesh_(&mesh),
      by_region_(on_regions(field, key, mesh, where_absent ? std::optional(Expression(*where_absent)) : std::nullopt)) {
}

bool FieldOnRegions::constant() const {
  return std::ranges::all_of(by_region_, [](const Expression& each) { return each.constant().has_value(); });
}

std::vector<operators::PointProgram> FieldOnRegions::programs() const {
  std::vector<operators::PointProgram> programs;
  for (const Expression& each : by_region_) programs.push_back(each.program());
  return programs;
}

std::vector<double> interpolate(const FieldOnRegions& field, const mesh::FunctionSpace& space) {
  const int d = space.mesh().dimension(), n = space.dofs_per_cell();
  const std::vector<double> points = space.dof_points();
  std::vector<std::int32_t> last = mesh::filled<std::int32_t>(space.dof_count());
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < space.mesh().cell_count(); ++cell)
    for (const std::int32_t dof : space.dofs(cell)) mesh::raise(last[dof], cell);
  std::vector<double> values = mesh::filled<double>(space.dof_count());
  struct Scratch {
    std::vector<double> points, values;
  };
  mesh::parallel_for(
      space.mesh().cell_count(),
      [&] {
        return Scratch{std::vector<double>(3 * static_cast<std::size_t>(n)), std::vector<double>(n)};
      },
      [&](Scratch& of_cell, std::int32_t cell) {
        const auto dofs = space.dofs(cell);
        for (int a = 0; a < n; ++a)
          std::copy_n(points.begin() + std::int64_t{dofs[a]} * d, d, of_cell.points.begin() + 3 * std::int64_t{a});
        field.of_cell(cell).evaluate(of_cell.points, of_cell.values);
        for (int a = 0; a < n; ++a)
          if (last[dofs[a]] == cell) values[dofs[a]] = of_cell.values[a];
      });
  return values;
}

void require_at_least(const Expression& expression, double least, bool or_equal, std::span<const double> points,
                      std::span<const double> values, const std::string& what, std::size_t stride) {
  for (std::size_t q = 0; q < points.size() / 3; ++q) {
    const double value = values[q * stride];
    if (value > least || (or_equal && value == least)) continue;
    throw InputError(
        at_place(expression.place(),
                 fmt::format("{} must be {}{}, but {} is {} at the point {}", what, or_equal ? "at least " : "above ",
                             least, in_quotes(expression.text()), value, point_text(&points[3 * q]))));
  }
}

}  // namespace femcg::solver
