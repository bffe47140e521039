#pragma once

#include <cstdint>
#include <vector>

#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// The cells with an affine map from the reference cell, to rounding of their nodes: in a mesh of order 2 or more,
/// those that follow no curved surface.
class AffineCells {
 public:
  explicit AffineCells(const Mesh& mesh);

  bool operator()(std::int32_t cell) const;
  std::int64_t count() const;
  bool all() const;
  /// True if an affine cell has orthogonal edges, to rounding of its nodes.
  bool is_box(std::int32_t cell) const;

  /// Nodes of the lattice at the vertex 0 and its neighbours along the axes, which say where the others are on an
  /// affine cell; these, and where they are on the reference cell, others x dimension.
  const std::vector<int>& corners() const { return corners_; }
  const std::vector<int>& others() const { return others_; }
  const std::vector<double>& positions() const { return positions_; }

 private:
  const Mesh* mesh_;
  int d_;
  std::vector<int> corners_, others_;
  std::vector<double> positions_;
  bool all_are_ = false;  ///< simplices of order 1, and a box as it is
};

}  // namespace femcg::mesh
