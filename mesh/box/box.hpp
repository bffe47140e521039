#pragma once

#include <array>
#include <optional>

#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// Rectangle or cuboid with one corner at the origin.
struct BoxOptions {
  CellShape shape = CellShape::quadrilateral;
  std::array<int, 3> cells{1, 1, 1};          ///< along each axis; the third is ignored in 2D
  std::array<double, 3> size{1.0, 1.0, 1.0};  ///< edge lengths
  double distort = 0.0;  ///< inner vertices move by up to this fraction of a cell, repeatably; 0 to most_distortion
};

/// Largest distortion that a box may have: 0.3 in 2D, 0.2 in 3D, in units of cells.
///
/// No cell can turn inside out: in units of cells the Jacobian matrix is I + E, where each of the d columns of E is a
/// difference of two displacements or a mean of such differences, so |E|_F <= 2 sqrt(d) distort, which is below 1 for
/// distort up to 0.353 in 2D and 0.288 in 3D.
constexpr double most_distortion(CellShape shape) { return dimension(shape) == 2 ? 0.3 : 0.2; }

/// Throws std::invalid_argument if make_box would.
void check_box(const BoxOptions& options);

/// Structured mesh of a box in one region "box". Simplices split each rectangle in 2, each cuboid in 6 (Kuhn) cells.
/// Sides are named left right (x), bottom top (y), back front (z). Throws std::invalid_argument for sizes or counts
/// that are not positive, a distortion out of range, and more than 2^31 - 1 cells or nodes.
Mesh make_box(const BoxOptions& options);

/// The same mesh as make_box, as an implicit grid where node coordinates follow from node numbers (Mesh::box).
Mesh implicit_box(const BoxOptions& options);

/// Box that is the uniform refinement of `options`, as an implicit grid. Empty unless the cells are equally spaced
/// quadrilaterals or hexahedra and the refined nodes can be numbered.
std::optional<BoxOptions> refined_box(const BoxOptions& options, int refinements);

/// True if validate accepts the box's mesh after `refinements` refinements. No cell of a box turns inside out, however
/// it is distorted, so one cell decides: determinants may only underflow or overflow.
bool is_valid_box(const BoxOptions& options, int refinements);

/// Block of cells of a box: from begin to before end along each axis; the third axis is ignored in 2D.
struct BoxBlock {
  std::array<int, 3> begin{}, end{};
};

/// Mesh of the cells that make_box makes in the block. All sides of the box are boundary groups, possibly empty.
Mesh implicit_box(const BoxOptions& options, const BoxBlock& block);

}  // namespace femcg::mesh
