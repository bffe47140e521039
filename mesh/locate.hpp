#pragma once

#include <array>
#include <optional>

#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// A point of a mesh: the cell that contains it, and its reference coordinates there.
struct Location {
  std::int32_t cell;
  std::array<double, 3> coordinates;  ///< the first dimension() entries are used
  double distance = 0;                ///< from the requested point
};

/// Finds the cell of a point (z ignored in 2D) by inverting the cell maps with Newton's method. A point on the
/// boundary, to 1e-9 of a cell or the rounding of coordinates, is inside. Empty if the point lies outside the mesh.
std::optional<Location> locate(const Mesh& mesh, const std::array<double, 3>& point);

/// True if a point lies inside a cell, more than a thousandth of its size from its sides.
bool lies_within(const Mesh& mesh, std::int32_t cell, const std::array<double, 3>& point);

/// Finds the nearest boundary point to a point outside, for points that lie between a curved surface and the flatter
/// sides of the cells. Its distance is at most the sagitta of a facet: twice that of the circle through neighbouring
/// facets that meet at an angle below smooth_angle. Empty for a point farther away.
std::optional<Location> locate_on_surface(const Mesh& mesh, const std::array<double, 3>& point);

}  // namespace femcg::mesh
