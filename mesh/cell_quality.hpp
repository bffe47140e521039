#pragma once

#include <vector>

#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// Deviation of a cell from the best one of its shape: equilateral, square or cube.
struct CellQuality {
  /// In degrees, at the vertices of the curved cell: between edges in 2D, between faces in 3D.
  double smallest_angle = 180, largest_angle = 0;
  /// Least over largest determinant of the map from the reference cell: 1 if it is affine, 0 if it folds.
  double jacobian = 1;
  /// Aspect ratio of the cell with straight edges, 1 at best (Stimpson et al. 2007). Simplices: longest edge h over the
  /// radius r of the inscribed circle or sphere, relative to the regular simplex: h / (2 sqrt(3) r), h / (2 sqrt(6) r).
  /// Tensor cells: longest over shortest axis, an axis joining the centres of opposite facets.
  double aspect = 1;
};

/// Qualities of all cells.
std::vector<CellQuality> cell_qualities(const Mesh& mesh);

/// Adds a warning if a cell of the mesh has an angle below 5 degrees. It names the smallest angle and its place, the
/// number of such cells, how many of them are due to a sharp edge of the part itself, and the expected slowdown.
void note_slivers(Mesh& mesh);

}  // namespace femcg::mesh
