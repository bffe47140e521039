#pragma once

#include <array>

#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// A rectangle or cuboid with one corner at the origin.
struct BoxOptions {
  CellShape shape = CellShape::quadrilateral;
  std::array<int, 3> cells{1, 1, 1};          ///< along each axis; the third is ignored in 2D
  std::array<double, 3> size{1.0, 1.0, 1.0};  ///< edge lengths
  double distort = 0.0;  ///< inner vertices move by at most this fraction of a cell, 0 to 0.3, smoothly repeatable
};

/// Structured mesh of a box in one region "box". Simplices split each rectangle in 2, each cuboid in 6 (Kuhn) cells.
/// Sides are named left right (x), bottom top (y), back front (z). Throws std::invalid_argument for sizes or counts
/// that are not positive, a distortion out of range and more than 2^31 - 1 cells or nodes.
Mesh make_box(const BoxOptions& options);

}  // namespace femcg::mesh
