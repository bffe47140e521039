#include "solver/case/case_diffusion.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace femcg::solver {

namespace {

using Kind = CaseNode::Kind;

bool is_tensor(const ValueReader& value) {
  return value.is(Kind::map) && std::ranges::any_of(value.node().children, [&](const CaseNode& entry) {
           return value.described().find(entry.key) != nullptr;
         });
}

/// One of the directions of a tensor's axes: two or three numbers.
std::optional<std::array<double, 3>> read_direction(const ValueReader& value, std::size_t& count) {
  const auto numbers = value.items("a direction, such as [1, 1, 0]");
  if (!numbers) return std::nullopt;
  std::array<double, 3> direction{};
  count = numbers->size();
  if (count != 2 && count != 3) {
    value.must_be("a direction of 2 or 3 numbers");
    return std::nullopt;
  }
  for (std::size_t i = 0; i < count; ++i) direction[i] = (*numbers)[i].number().value_or(1);
  return direction;
}

std::optional<RegionDiffusion> read_tensor(const ValueReader& value) {
  const MapReader keys(value);
  TensorExpression tensor{{}, {}, 3, value.key_place(), value.path()};
  for (const std::string& name : tensor_entries(3))
    if (const auto entry = keys.find(name))
      if (const auto expression = entry->expression()) tensor.entries.emplace(name, *expression);
  if (const auto axes = keys.find("axes"))
    if (const auto directions = axes->items("a list of directions, such as [[1, 1, 0], [0, 0, 1]]"))
      for (const ValueReader& each : *directions) {
        std::size_t count = 3;
        if (const auto direction = read_direction(each, count)) tensor.axes.push_back(*direction);
        tensor.axis_entries = std::min(tensor.axis_entries, count);
      }
  return tensor;
}

/// The diffusion of a region, or of all.
std::optional<RegionDiffusion> read_value(const ValueReader& value) {
  if (is_tensor(value)) return read_tensor(value);
  if (!value.is(Kind::scalar)) {
    value.must_be(
        "a number, an expression in x, y, z, a tensor such as {xx: 5, yy: 5, zz: 0.5}, or a map of them by region");
    return std::nullopt;
  }
  const auto expression = value.expression();
  if (!expression) return std::nullopt;
  if (const auto number = expression->constant(); number && !positive_number.holds(*number))
    value.must_be(positive_number.words);
  return *expression;
}

}  // namespace

std::optional<DiffusionField> read_diffusion(const ValueReader& value) {
  DiffusionField field;
  field.place = value.key_place();
  if (!value.is_map() || is_tensor(value)) {
    field.everywhere = read_value(value);
    return field.everywhere ? std::optional(field) : std::nullopt;
  }
  const auto regions = value.entries("the diffusion of each region");
  if (!regions) return std::nullopt;
  for (const ValueReader& region : *regions)
    if (const auto diffusion = read_value({region.node(), region.path(), &value.described(), value.problems()}))
      field.by_region.emplace(region.key(), *diffusion);
  return field;
}

}  // namespace femcg::solver
