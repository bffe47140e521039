#pragma once

#include <array>
#include <optional>

#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// A point of a mesh: the cell that holds it and its reference coordinates there.
struct Location {
  std::int32_t cell;
  std::array<double, 3> coordinates;  ///< the first dimension() of them
};

/// Finds the cell of a point (z ignored in 2D) by inverting the cell maps with Newton's method; a point on the
/// boundary, to 1e-9 of a cell or the rounding of coordinates, is inside. Nothing where the point lies outside the
/// mesh.
std::optional<Location> locate(const Mesh& mesh, const std::array<double, 3>& point);

}  // namespace femcg::mesh
