#pragma once

#include <vector>

#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// How far a cell is from the one of its shape that serves best: the equilateral, the square, the cube.
struct CellQuality {
  /// In degrees, at the vertices: between edges in the plane, between faces in space, of the cell as it is curved.
  double smallest_angle = 180, largest_angle = 0;
  /// The least over the largest determinant of the map from the reference cell: 1 where it is affine, 0 where it folds.
  double jacobian = 1;
  /// 1 at best. Of simplices the longest edge over the radius r of the inscribed circle or sphere, as a multiple of
  /// what it is for the regular one: h / (2 sqrt(3) r), h / (2 sqrt(6) r). Of tensor cells the longest over the
  /// shortest axis, which joins the centres of opposite facets. Of the cell with straight edges (Stimpson et al. 2007).
  double aspect = 1;
};

/// Qualities of all cells.
std::vector<CellQuality> cell_qualities(const Mesh& mesh);

/// Adds a warning where a cell of a mesh has an angle below 5 degrees: the smallest, its place, how
/// many there are and how many of them have it because the part is as sharp, and what such cells cost.
void note_slivers(Mesh& mesh);

}  // namespace femcg::mesh
