#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "mesh/dofs/function_space.hpp"
#include "mesh/parts/mesh_part.hpp"

namespace femcg::mesh {

/// Something on vertices that a neighbour has as well: an index, and what tells it from all others there, for both
/// processes. The key of a dof are the weights of the vertices of the facet, edge or vertex that it lies on, in whole
/// numbers: p^d phi_v on tensor cells, p phi_v on simplices, phi_v being the linear function of vertex v and p the
/// degree. A vertex goes by its place in MeshPart::Neighbour::vertices.
struct OnSharedVertices {
  struct Weight {
    std::int32_t vertex, value;
    auto operator<=>(const Weight&) const = default;
  };
  using Key = std::array<Weight, 4>;  ///< ascending; -1 fills it up
  Key key;
  std::int32_t index;
  auto operator<=>(const OnSharedVertices&) const = default;
};

/// For each neighbour of a part the dofs of a space on its mesh that lie on shared vertices alone; sorted. The
/// neighbour need not have all of them.
std::vector<std::vector<OnSharedVertices>> dofs_on_shared_vertices(const FunctionSpace& space,
                                                                   std::span<const MeshPart::Neighbour> neighbours);
/// Likewise some facets of the mesh, whose key is their vertices; the index is that in the list.
std::vector<std::vector<OnSharedVertices>> facets_on_shared_vertices(const Mesh& mesh,
                                                                     std::span<const BoundaryFacet> facets,
                                                                     std::span<const MeshPart::Neighbour> neighbours);

}  // namespace femcg::mesh
