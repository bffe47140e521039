#include "mesh/gmsh/sdk/sizes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmsh.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

namespace femcg::mesh {

namespace {

void set(const char* option, double value) { gmsh::option::setNumber(option, value); }

/// Extents of the model as text, "0.06 x 0.06 x 0.036", and the longest of them.
std::pair<std::string, double> measures_of_model(double factor) {
  double x0 = 0, y0 = 0, z0 = 0, x1 = 0, y1 = 0, z1 = 0;
  gmsh::model::getBoundingBox(-1, -1, x0, y0, z0, x1, y1, z1);
  const double x = factor * (x1 - x0), y = factor * (y1 - y0), z = factor * (z1 - z0);
  return {fmt::format("{:.4g} x {:.4g} x {:.4g}", x, y, z), std::max({x, y, z})};
}

/// Throws if cells of this size everywhere would certainly exceed the free memory.
void check_memory(double size, const GmshOptions& options, const MeshingPlan& plan) {
  const int dimension = gmsh::model::getDimension();
  const std::optional<double> measure = measure_of_model(dimension, plan.factor);
  if (!measure) return;
  // Measured: number of cells in a square or cube of this size, and Gmsh's bytes per cell.
  const double in_size = options.tensor_cells ? (dimension == 2 ? 1.0 : 2.2) : dimension == 2 ? 2.3 : 4.5;
  const double bytes_of_cell = 400;
  const double cells = in_size * *measure * std::pow(std::ldexp(1.0, options.refine) / size, dimension);
  const double bytes = bytes_of_cell * cells;
  if (bytes < static_cast<double>(plan.free_memory)) return;
  throw std::runtime_error(fmt::format(
      "about {:.2g} cells of size {} fill the geometry, which measures {}; they need about {:.3g} GB of memory, and "
      "{:.3g} "
      "GB are free: is mesh.unit right, or else mesh.size?",
      cells, size, measures_of_model(plan.factor).first, 1e-9 * bytes, 1e-9 * static_cast<double>(plan.free_memory)));
}

void check_size(double size, double factor, std::vector<std::string>& warnings) {
  if (!(size > 0) || !std::isfinite(size))
    throw std::runtime_error(fmt::format("the cell size is {}, but must be greater than 0", size));
  const auto [measures, extent] = measures_of_model(factor);
  constexpr double most_cells_along = 1e5;
  if (extent > most_cells_along * size)
    throw std::runtime_error(fmt::format(
        "cells of size {} are far too small for the geometry, which measures {}: is mesh.unit right?", size, measures));
  if (size > extent)
    warnings.push_back(fmt::format("the cell size {} exceeds the geometry, which measures {}", size, measures));
}

/// Sizes at physical groups, by name. Throws if a name is neither a group nor a rule.
std::vector<EntitySize> sizes_of_physical_groups(const GmshOptions& options) {
  std::set<std::string> known;
  for (const auto& [name, rule] : options.groups) known.insert(name);
  std::vector<EntitySize> sizes;
  gmsh::vectorpair groups;
  gmsh::model::getPhysicalGroups(groups);
  for (const auto& [dimension, tag] : groups) {
    std::string name;
    gmsh::model::getPhysicalName(dimension, tag, name);
    if (name.empty()) name = std::to_string(tag);
    known.insert(name);
    const auto size = options.sizes.find(name);
    if (size == options.sizes.end() || options.groups.contains(name)) continue;
    std::vector<int> entities;
    gmsh::model::getEntitiesForPhysicalGroup(dimension, tag, entities);
    for (const int entity : entities) sizes.push_back({dimension, std::abs(entity), size->second});
  }
  for (const auto& [name, size] : options.sizes)
    if (!known.contains(name))
      throw std::runtime_error(fmt::format(
          "mesh.sizes names '{}', but {}{}; femcg mesh shows what there is", name,
          known.empty() ? "neither the file nor mesh.groups has a group" : "the groups are ", fmt::join(known, ", ")));
  return sizes;
}

/// Sets sizes at the entities' points; at all others options.size, or else the file's.
void set_sizes_at_points(const std::vector<EntitySize>& sizes, const GmshOptions& options, double factor) {
  std::map<int, double> of_point;
  for (const EntitySize& each : sizes) {
    gmsh::vectorpair points{{0, each.tag}};
    constexpr bool combined = false, oriented = false, recursive = true;
    if (each.dimension > 0)
      gmsh::model::getBoundary({{each.dimension, each.tag}}, points, combined, oriented, recursive);
    for (const auto& [dimension, point] : points) {
      double& least = of_point.try_emplace(point, each.size).first->second;
      least = std::min(least, each.size);
    }
  }
  gmsh::vectorpair all;
  gmsh::model::getEntities(all, 0);
  if (options.size) gmsh::model::mesh::setSize(all, *options.size / factor);
  for (const auto& [point, size] : of_point) gmsh::model::mesh::setSize({{0, point}}, size / factor);
  set("Mesh.MeshSizeFromPoints", 1);
  set("Mesh.MeshSizeExtendFromBoundary", 1);
}

}  // namespace

std::optional<double> measure_of_model(int dimension, double factor) {
  gmsh::vectorpair parts;
  gmsh::model::getEntities(parts, dimension);
  double sum = 0;
  for (const auto& [d, tag] : parts) try {
      double measure = 0;
      gmsh::model::occ::getMass(d, tag, measure);
      sum += std::abs(measure);  // negative if a surface is inside out
    } catch (...) {
      return std::nullopt;
    }
  return sum * std::pow(factor, dimension);
}

void choose_sizes(const GmshOptions& options, const MeshingPlan& plan, std::vector<std::string>& warnings) {
  std::vector<EntitySize> sizes = sizes_of_physical_groups(options);
  sizes.insert(sizes.end(), plan.sizes.begin(), plan.sizes.end());
  for (const auto& [name, size] : options.sizes) check_size(size, plan.factor, warnings);
  if (options.size) {
    check_size(*options.size, plan.factor, warnings);
    const bool least = std::ranges::all_of(options.sizes, [&](const auto& at) { return at.second <= *options.size; });
    if (least) check_memory(*options.size, options, plan);
    set("Mesh.MeshSizeMin", *options.size / plan.factor);
    set("Mesh.MeshSizeMax", *options.size / plan.factor);
    set("Mesh.MeshSizeFactor", 1);
  }
  if (sizes.empty()) return;
  set_sizes_at_points(sizes, options, plan.factor);
  double least = 0, largest = 0;
  gmsh::option::getNumber("Mesh.MeshSizeMin", least);
  gmsh::option::getNumber("Mesh.MeshSizeMax", largest);
  for (const EntitySize& each : sizes) {
    least = std::min(least, each.size / plan.factor);
    largest = std::max(largest, each.size / plan.factor);
  }
  set("Mesh.MeshSizeMin", least);
  set("Mesh.MeshSizeMax", largest);
}

}  // namespace femcg::mesh
