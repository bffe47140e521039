#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "mesh/dofs/function_space.hpp"
#include "mesh/parts/mesh_part.hpp"

namespace femcg::mesh {

/// An item on vertices shared with a neighbour: a local index, and a key that identifies the item on both processes.
/// The key of a dof consists of the weights of the vertices of its facet, edge or vertex, as integers: p^d phi_v on
/// tensor cells, p phi_v on simplices, where phi_v is the linear function of vertex v and p the degree. Vertices are
/// identified by their position in MeshPart::Neighbour::vertices.
struct OnSharedVertices {
  struct Weight {
    std::int32_t vertex, value;
    auto operator<=>(const Weight&) const = default;
  };
  using Key = std::array<Weight, 4>;  ///< ascending; padded with -1
  Key key;
  std::int32_t index;
  auto operator<=>(const OnSharedVertices&) const = default;
};

/// For each neighbour of a part, the dofs of a space on its mesh that lie on shared vertices only, sorted. The
/// neighbour need not have all of these dofs.
std::vector<std::vector<OnSharedVertices>> dofs_on_shared_vertices(const FunctionSpace& space,
                                                                   std::span<const MeshPart::Neighbour> neighbours);
/// The same for some facets of the mesh; the key is their vertices, the index that in `facets`.
std::vector<std::vector<OnSharedVertices>> facets_on_shared_vertices(const Mesh& mesh,
                                                                     std::span<const BoundaryFacet> facets,
                                                                     std::span<const MeshPart::Neighbour> neighbours);

}  // namespace femcg::mesh
