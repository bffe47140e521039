#include "mesh/gmsh/sdk/sewing.hpp"

#include <fmt/format.h>
#include <gmsh.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

#include "mesh/gmsh/raw/counted.hpp"

namespace femcg::mesh {

namespace {

using Box = std::array<double, 6>;  ///< least x, y, z; greatest x, y, z

Box box_of(int dimension, int tag) {
  Box box{};
  gmsh::model::getBoundingBox(dimension, tag, box[0], box[1], box[2], box[3], box[4], box[5]);
  return box;
}

gmsh::vectorpair entities(int dimension) {
  gmsh::vectorpair all;
  gmsh::model::getEntities(all, dimension);
  return all;
}

double volume() {
  double sum = 0;
  for (const auto& [dimension, tag] : entities(3)) {
    double one = 0;
    gmsh::model::occ::getMass(dimension, tag, one);
    sum += std::abs(one);
  }
  return sum;
}

/// Edges with a surface on one side only; none if the surfaces are closed.
gmsh::vectorpair free_edges(const gmsh::vectorpair& surfaces) {
  constexpr bool cancel_pairs = true, oriented = false;
  gmsh::vectorpair edges;
  gmsh::model::getBoundary(surfaces, edges, cancel_pairs, oriented);
  return edges;
}

/// Surfaces of the model, grouped into those that edges connect.
std::vector<gmsh::vectorpair> joined_surfaces() {
  std::vector<gmsh::vectorpair> parts;
  std::map<int, std::size_t> of_edge;  // component of each edge
  for (const auto& surface : entities(2)) {
    gmsh::vectorpair edges;
    gmsh::model::getBoundary({surface}, edges, false, false);
    const std::size_t here = parts.size();
    parts.push_back({surface});
    for (const auto& [dimension, edge] : edges) {
      const std::size_t other = of_edge.try_emplace(edge, here).first->second;
      if (other == here) continue;
      parts[here].insert(parts[here].end(), parts[other].begin(), parts[other].end());
      parts[other].clear();
      for (auto& [known, part] : of_edge)
        if (part == other) part = here;
    }
  }
  std::erase_if(parts, [](const gmsh::vectorpair& part) { return part.empty(); });
  return parts;
}

/// Sewn surfaces: closed ones, grouped by solid, and all others.
struct Sewn {
  std::vector<gmsh::vectorpair> closed;
  gmsh::vectorpair open;
};

void heal(const gmsh::vectorpair& surfaces, double tolerance, bool make_solids) {
  constexpr bool fix_degenerated = true, fix_small_edges = false, fix_small_faces = false, sew = true;
  gmsh::vectorpair healed;
  gmsh::model::occ::healShapes(healed, surfaces, tolerance, fix_degenerated, fix_small_edges, fix_small_faces, sew,
                               make_solids);
  gmsh::model::occ::synchronize();
}

/// Makes a solid from closed surfaces.
void make_solid(const gmsh::vectorpair& surfaces, double tolerance) {
  if (surfaces.size() > 1) return heal(surfaces, tolerance, true);
  // A single closed surface, such as a sphere or torus, which healing would leave unchanged.
  constexpr bool sew = true, recursive = true;
  const int loop = gmsh::model::occ::addSurfaceLoop({surfaces.front().second}, -1, sew);
  gmsh::model::occ::addVolume({loop});
  gmsh::model::occ::remove(surfaces, recursive);
  gmsh::model::occ::synchronize();
}

Sewn sew(double tolerance) {
  heal({}, tolerance, false);
  Sewn sewn;
  for (gmsh::vectorpair& part : joined_surfaces()) {
    if (free_edges(part).empty())
      sewn.closed.push_back(std::move(part));
    else
      sewn.open.insert(sewn.open.end(), part.begin(), part.end());
  }
  return sewn;
}

/// True if surfaces coincide, or if one of several solids overlaps another. Joins several solids.
bool overlap(std::size_t solids) {
  constexpr double same = 1e-6;
  if (solids < 2) {
    std::vector<std::array<double, 4>> faces;  // area and centre
    for (const auto& [dimension, tag] : entities(2)) {
      std::array<double, 4>& face = faces.emplace_back();
      gmsh::model::occ::getMass(dimension, tag, face[0]);
      gmsh::model::occ::getCenterOfMass(dimension, tag, face[1], face[2], face[3]);
    }
    std::ranges::sort(faces);
    return std::ranges::adjacent_find(faces, [](const auto& a, const auto& b) {
             const double near = same * std::sqrt(std::abs(a[0]));
             return std::abs(a[0] - b[0]) < same * std::abs(a[0]) && std::abs(a[1] - b[1]) < near &&
                    std::abs(a[2] - b[2]) < near && std::abs(a[3] - b[3]) < near;
           }) != faces.end();
  }
  const double before = volume();
  try {
    gmsh::model::occ::removeAllDuplicates();
  } catch (...) {
    return true;
  }
  gmsh::model::occ::synchronize();
  return volume() < (1 - same) * before;
}

}  // namespace

void sew_surfaces(std::vector<std::string>& warnings) {
  constexpr std::array tolerances{1e-6, 1e-5, 1e-4};  // relative to the size of the model
  constexpr double flat = 1e-9;
  const std::size_t surfaces = entities(2).size();
  if (!entities(3).empty() || surfaces == 0) return;
  const Box box = box_of(-1, -1);
  const double size = std::hypot(box[3] - box[0], box[4] - box[1], box[5] - box[2]);
  if (box[5] - box[2] <= flat * size) return;
  Sewn sewn;
  double tolerance = 0;
  for (const double each : tolerances) {
    tolerance = each * size;
    sewn = sew(tolerance);
    if (sewn.open.empty()) break;
  }
  if (sewn.closed.empty()) {
    const gmsh::vectorpair edges = free_edges(sewn.open);
    const Box first = box_of(1, edges.front().second);
    throw std::runtime_error(
        fmt::format("the geometry has {} and no solid, and sewn together they do not close: {} have a surface on one "
                    "side only, the "
                    "first about ({:.4g}, {:.4g}, {:.4g}); close them in the CAD program, or export solids",
                    counted(surfaces, "surface"), counted(edges.size(), "edge"), (first[0] + first[3]) / 2,
                    (first[1] + first[4]) / 2, (first[2] + first[5]) / 2));
  }
  for (const gmsh::vectorpair& part : sewn.closed) make_solid(part, tolerance);
  const std::size_t solids = entities(3).size();
  if (solids < sewn.closed.size())
    throw std::runtime_error(
        fmt::format("the geometry has {} and no solid; they close to {}, but solids can be made of {} alone: export "
                    "solids from the "
                    "CAD program",
                    counted(surfaces, "surface"), counted(sewn.closed.size(), "volume"), solids));
  if (overlap(solids))
    throw std::runtime_error(
        fmt::format("the geometry has {} and no solid, and those that they close to cannot be told apart: some lie on "
                    "each other, as "
                    "between parts that touch, or within one another; export solids from the CAD program",
                    counted(surfaces, "surface")));
  warnings.push_back(fmt::format(
      "the geometry has {} and no solid: they were sewn into {}{}", counted(surfaces, "surface"),
      counted(solids, "solid"),
      sewn.open.empty() ? ""
                        : fmt::format(", and {} left out that do not close", counted(sewn.open.size(), "surface"))));
}

}  // namespace femcg::mesh
