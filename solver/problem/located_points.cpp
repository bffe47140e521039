#include "solver/problem/located_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mesh/geometry.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::solver {

namespace {

/// Bounding box over all processes: "[0, 1] x [0, 2]".
std::string box_text(const mesh::Mesh& mesh, const operators::SharedDofs& shared) {
  constexpr double rounding = 1e-12;
  const mesh::Extent here = mesh::extent_of(mesh);
  const double largest = -shared.least(-here.largest_coordinate());
  const auto plain = [&](double x) { return std::abs(x) < rounding * largest ? 0.0 : x; };
  std::string text;
  for (int axis = 0; axis < mesh.dimension(); ++axis)
    text += fmt::format("{}[{:.4g}, {:.4g}]", axis == 0 ? "" : " x ", plain(shared.least(here.low[axis])),
                        plain(-shared.least(-here.high[axis])));
  return text;
}

}  // namespace

LocatedPoints locate_points(const std::vector<Probe>& points, std::string_view kind, const mesh::Mesh& mesh,
                            const operators::SharedDofs& shared, std::vector<std::string>* warnings) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  LocatedPoints located;
  std::vector<std::string> problems;
  for (const Probe& each : points) {
    std::optional<mesh::Location> location = mesh::locate(mesh, each.point);
    if (!shared.any(location.has_value())) location = mesh::locate_on_surface(mesh, each.point);
    const auto found = shared.gathered(std::vector{location ? location->distance : infinity});
    const auto first = std::ranges::min_element(found);
    if (first - found.begin() != shared.rank()) location.reset();  // the first of the nearest processes has it
    const double distance = first->front();
    const std::string name = fmt::format("{} {} at {}", kind, in_quotes(each.name), point_text(each.point.data()));
    if (distance == infinity) {
      problems.push_back(
          at_place(each.place, fmt::format("{} lies outside the mesh, which is in {}", name, box_text(mesh, shared))));
      continue;
    }
    if (distance > 0 && warnings != nullptr)
      warnings->push_back(
          fmt::format("{} lies {:.3g} outside the mesh, whose cells leave out a part of the curved "
                      "surface: it moves to the nearest point",
                      name, distance));
    located.emplace_back(each.name, std::move(location));
  }
  if (!problems.empty()) throw InputError(problems);
  return located;
}

}  // namespace femcg::solver
