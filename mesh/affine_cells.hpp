#pragma once

#include <cstdint>
#include <vector>

#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// Cells whose map from the reference cell is affine, to rounding of their nodes. In a mesh of order 2 or more these
/// are the cells that follow no curved surface.
class AffineCells {
 public:
  explicit AffineCells(const Mesh& mesh);

  bool operator()(std::int32_t cell) const;
  std::int64_t count() const;
  bool all() const;
  /// True if an affine cell has orthogonal edges, to rounding of its nodes.
  bool is_box(std::int32_t cell) const;

  /// Lattice nodes at vertex 0 and its neighbours along the axes (corners), which determine the other nodes (others) of
  /// an affine cell, and the reference coordinates of the latter, [others][dimension].
  const std::vector<int>& corners() const { return corners_; }
  const std::vector<int>& others() const { return others_; }
  const std::vector<double>& positions() const { return positions_; }

 private:
  const Mesh* mesh_;
  int d_;
  std::vector<int> corners_, others_;
  std::vector<double> positions_;
  bool all_are_ = false;  ///< true for simplices of order 1 and an undistorted box
};

}  // namespace femcg::mesh
