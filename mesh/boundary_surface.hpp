#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// Nodes at the vertices of facets, one after the other around each.
class FacetVertices {
 public:
  explicit FacetVertices(const Mesh& mesh);
  /// Vertices of a facet.
  std::size_t count() const { return count_; }
  std::int32_t node(const BoundaryFacet& facet, std::size_t v) const {
    return mesh_->nodes(facet.cell)[nodes_[facet.facet][v]];
  }
  /// Sorted; no node (-1) comes before those of a facet with less than four.
  std::array<std::int32_t, 4> key(const BoundaryFacet& facet) const;

 private:
  const Mesh* mesh_;
  std::size_t count_;
  std::vector<std::array<int, 4>> nodes_;  ///< of a cell, by facet
};

/// Two facets that meet at an edge, in the plane at a vertex, which no third one has.
struct FacetPair {
  std::size_t first, second;
  double angle;  ///< between their outward normals, as flat between their vertices
};

/// Pairs of facets among the given boundary facets of a mesh, by their indices.
std::vector<FacetPair> facet_pairs(const Mesh& mesh, std::span<const BoundaryFacet> facets);

/// Facets that meet at a smaller angle than this are taken for parts of one smooth surface: 40 degrees.
inline constexpr double smooth_angle = 40 * 3.14159265358979323846 / 180;

}  // namespace femcg::mesh
