#pragma once

#include <array>
#include <optional>

#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// A point of a mesh: the cell that holds it and its reference coordinates there.
struct Location {
  std::int32_t cell;
  std::array<double, 3> coordinates;  ///< the first dimension() of them
  double distance = 0;                ///< from the point that was asked for
};

/// Finds the cell of a point (z ignored in 2D) by inverting the cell maps with Newton's method; a point on the
/// boundary, to 1e-9 of a cell or the rounding of coordinates, is inside. Nothing where the point lies outside the
/// mesh.
std::optional<Location> locate(const Mesh& mesh, const std::array<double, 3>& point);

/// True if a point lies within a cell, by more than a thousandth of it from its sides.
bool lies_within(const Mesh& mesh, std::int32_t cell, const std::array<double, 3>& point);

/// Finds the point of the boundary that is nearest to one outside, where cells with flatter sides than a curved surface
/// leave such points out: its distance is at most the sagitta of a facet, twice that of the circle through neighbouring
/// facets that meet at an angle below smooth_angle. Nothing for a point that is farther.
std::optional<Location> locate_on_surface(const Mesh& mesh, const std::array<double, 3>& point);

}  // namespace femcg::mesh
