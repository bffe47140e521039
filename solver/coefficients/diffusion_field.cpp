#include "solver/coefficients/diffusion_field.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Dense>
#include <algorithm>
#include <utility>

#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::solver {

namespace {

using operators::upper_index;
using operators::upper_size;

constexpr const char* key = "equation.diffusion";

/// Name of entry (i, j), i <= j.
std::string entry_name(int i, int j) { return {"xyz"[i], "xyz"[j]}; }

/// Replaces the entries along axes, [space][axes], by those in space.
void rotate(std::span<const double> axes, std::span<double> entries) {
  std::array<double, upper_size(3)> turned{};
  entries.size() == upper_size(2) ? operators::transform_tensor<2>(axes.data(), entries.data(), turned.data())
                                  : operators::transform_tensor<3>(axes.data(), entries.data(), turned.data());
  std::copy_n(turned.begin(), entries.size(), entries.begin());
}

/// The axes as columns of length 1, [space][axes]: x' along the first direction, y' along the second less its part
/// along x'; in the plane, perpendicular to x'. Throws InputError if they are not `dimension` - 1 independent
/// directions.
std::vector<double> axes_of(const TensorExpression& tensor, int dimension) {
  if (tensor.axes.empty()) return {};
  const auto refuse = [&](const std::string& right) {
    throw InputError(at_place(tensor.place, fmt::format("{}.axes must be {}", tensor.key, right)));
  };
  if (std::ssize(tensor.axes) != dimension - 1 || tensor.axis_entries != static_cast<std::size_t>(dimension))
    refuse(dimension == 2 ? "one direction in the plane, such as [[1, 1]]"
                          : "two directions in space, such as [[1, 1, 0], [0, 0, 1]]");
  constexpr double least = 1e-8;
  Eigen::Matrix3d columns = Eigen::Matrix3d::Identity();
  for (int k = 0; k < dimension - 1; ++k) {
    Eigen::Vector3d direction = Eigen::Map<const Eigen::Vector3d>(tensor.axes[k].data());
    const double length = direction.norm();
    if (k == 1) direction -= direction.dot(columns.col(0)) * columns.col(0);
    if (!(direction.norm() > least * length)) refuse("directions that are not zero or parallel");
    columns.col(k) = direction.normalized();
  }
  if (dimension == 2)
    columns.col(1) << -columns(1, 0), columns(0, 0), 0;
  else
    columns.col(2) = columns.col(0).cross(columns.col(1));
  std::vector<double> axes;
  for (int i = 0; i < dimension; ++i)
    for (int j = 0; j < dimension; ++j) axes.push_back(columns(i, j));
  return axes;
}

bool is_tensor(const DiffusionField& field, const mesh::Mesh& mesh) {
  return std::ranges::any_of(on_regions(field, key, mesh, {}),
                             [](const RegionDiffusion& region) { return region.tensor().has_value(); });
}

}  // namespace

std::vector<std::string> tensor_entries(int dimension) {
  std::vector<std::string> names;
  for (int i = 0; i < dimension; ++i) names.push_back(entry_name(i, i));
  for (int i = 0; i < dimension; ++i)
    for (int j = i + 1; j < dimension; ++j) names.push_back(entry_name(i, j));
  return names;
}

DiffusionOnRegions::DiffusionOnRegions(const DiffusionField& field, const mesh::Mesh& mesh)
    : mesh_(&mesh), dimension_(mesh.dimension()), entries_(is_tensor(field, mesh) ? upper_size(dimension_) : 1) {
  for (const RegionDiffusion& region : on_regions(field, key, mesh, {})) {
    regions_.push_back(region.tensor() ? tensor_region(*region.tensor())
                                       : Region{{region.multiple()}, {}, {}, key, region.place()});
    Region& made = regions_.back();
    if (!std::ranges::all_of(made.entries, [](const Expression& each) { return each.constant().has_value(); }))
      continue;
    const std::array<double, 3> anywhere{};
    operators::DiffusionValue value;
    const std::span<double> entries = std::span(value.entries).first(static_cast<std::size_t>(entries_));
    evaluate(made, anywhere, entries);
    made.constant = value;
    require_positive(made, anywhere, entries);
  }
}

DiffusionOnRegions::Region DiffusionOnRegions::tensor_region(const TensorExpression& from) const {
  const std::vector<std::string> names = tensor_entries(dimension_);
  for (const auto& [name, expression] : from.entries)
    if (std::ranges::find(names, name) == names.end())
      throw InputError(at_place(expression.place(), fmt::format("{}.{}: a tensor in the plane has the entries {}",
                                                                from.key, name, fmt::join(names, ", "))));
  Region region{std::vector<Expression>(static_cast<std::size_t>(entries_), Expression(0.0)),
                axes_of(from, dimension_),
                {},
                from.key,
                from.place};
  for (int i = 0; i < dimension_; ++i)
    for (int j = i; j < dimension_; ++j) {
      const auto given = from.entries.find(entry_name(i, j));
      if (given != from.entries.end())
        region.entries[static_cast<std::size_t>(upper_index(i, j, dimension_))] = given->second;
      else if (i == j)
        throw InputError(
            at_place(from.place, fmt::format("{} has no {}; a tensor has {}, and others that are not 0", from.key,
                                             entry_name(i, i), dimension_ == 2 ? "xx and yy" : "xx, yy and zz")));
    }
  return region;
}

bool DiffusionOnRegions::constant() const {
  return std::ranges::all_of(regions_, [](const Region& region) { return region.constant.has_value(); });
}

void DiffusionOnRegions::evaluate(const Region& region, std::span<const double> points,
                                  std::span<double> values) const {
  if (entries_ == 1) return region.entries[0].evaluate(points, values);
  const auto entries = static_cast<std::size_t>(entries_), count = points.size() / 3;
  if (region.constant) {
    for (std::size_t q = 0; q < count; ++q)
      std::copy_n(region.constant->entries.begin(), entries, values.begin() + static_cast<std::ptrdiff_t>(q * entries));
    return;
  }
  std::ranges::fill(values, 0.0);
  std::vector<double> of_entry(count);
  const bool is_multiple = region.entries.size() == 1;
  for (std::size_t e = 0; e < region.entries.size(); ++e) {
    region.entries[e].evaluate(points, of_entry);
    for (std::size_t q = 0; q < count; ++q) {
      if (!is_multiple) values[q * entries + e] = of_entry[q];
      for (int i = 0; i < dimension_ && is_multiple; ++i)
        values[q * entries + upper_index(i, i, dimension_)] = of_entry[q];
    }
  }
  for (std::size_t q = 0; q < count && !region.axes.empty(); ++q)
    rotate(region.axes, values.subspan(q * entries, entries));
}

void DiffusionOnRegions::evaluate(std::int32_t cell, std::span<const double> points, std::span<double> values) const {
  evaluate(of_cell(cell), points, values);
}

void DiffusionOnRegions::require_positive(const Region& region, std::span<const double> points,
                                          std::span<const double> values) const {
  if (region.entries.size() == 1) {
    if (!region.constant)
      require_at_least(region.entries[0], 0, false, points, values, key, static_cast<std::size_t>(entries_));
    else if (!(values[0] > 0))
      throw InputError(at_place(region.place, fmt::format("{} must be above 0, not {}", key, values[0])));
    return;
  }
  const auto entries = static_cast<std::size_t>(entries_);
  for (std::size_t q = 0; q < values.size() / entries; ++q) {
    const double least = operators::least_eigenvalue(&values[q * entries], entries_);
    if (least > 0) continue;
    throw InputError(at_place(
        region.place, fmt::format("{} must be positive definite, but its least eigenvalue is {:.6g}{}", region.key,
                                  least, region.constant ? "" : " at the point " + point_text(&points[3 * q]))));
  }
}

void DiffusionOnRegions::require_positive(std::int32_t cell, std::span<const double> points,
                                          std::span<const double> values) const {
  if (!of_cell(cell).constant) require_positive(of_cell(cell), points, values);
}

void DiffusionOnRegions::multiply(std::int32_t cell, std::span<const double> points,
                                  std::span<double> gradients) const {
  const auto entries = static_cast<std::size_t>(entries_), count = points.size() / 3;
  std::vector<double> values(count * entries);
  evaluate(of_cell(cell), points, values);
  for (std::size_t q = 0; q < count; ++q)
    operators::multiply_diffusion(&values[q * entries], entries_, &gradients[3 * q]);
}

std::vector<operators::PointProgram> DiffusionOnRegions::programs() const {
  std::vector<operators::PointProgram> programs;
  for (const Region& region : regions_)
    if (entries_ == 1) programs.push_back(region.entries[0].program());
  return programs;
}

}  // namespace femcg::solver
