#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// Nodes at the vertices of facets, in order around each facet.
class FacetVertices {
 public:
  explicit FacetVertices(const Mesh& mesh);
  /// Number of vertices of a facet.
  std::size_t count() const { return count_; }
  std::int32_t node(const BoundaryFacet& facet, std::size_t v) const {
    return mesh_->nodes(facet.cell)[nodes_[facet.facet][v]];
  }
  /// Nodes of a facet, ascending; facets with fewer than four have -1 in front.
  std::array<std::int32_t, 4> key(const BoundaryFacet& facet) const;

 private:
  const Mesh* mesh_;
  std::size_t count_;
  std::vector<std::array<int, 4>> nodes_;  ///< nodes of a cell, [facets][vertices]
};

/// Two facets that alone share an edge (in 2D: a vertex).
struct FacetPair {
  std::size_t first, second;
  double angle;  ///< in radians, between the outward normals of the facets taken as flat between their vertices
};

/// Pairs of the given boundary facets of a mesh, as indices into `facets`.
std::vector<FacetPair> facet_pairs(const Mesh& mesh, std::span<const BoundaryFacet> facets);

/// Angle between facets below which they count as parts of one smooth surface, in radians: 40 degrees.
inline constexpr double smooth_angle = 40 * 3.14159265358979323846 / 180;

}  // namespace femcg::mesh
