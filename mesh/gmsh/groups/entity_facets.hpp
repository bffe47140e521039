#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "mesh/gmsh/raw/raw_mesh.hpp"

namespace femcg::mesh {

/// Facets of cells that coincide with the elements of some entities, sorted by cell and facet, each once.
struct FacetsOfElements {
  std::vector<BoundaryFacet> outer;  ///< of one cell
  std::vector<BoundaryFacet> inner;  ///< between two cells, given as facet of the first
  std::size_t strays = 0;            ///< elements that are no facet of a cell
};

/// Finds the facets of cells that coincide with elements of one dimension less: those with the same vertices.
class EntityFacets {
 public:
  /// Facets of the elements on these entities; `node_numbers`: the result of copy_cells.
  EntityFacets(const RawMesh& raw, const std::set<int>& entities, std::span<const std::int32_t> node_numbers,
               const Mesh& mesh);

  /// Facets on some of these entities.
  FacetsOfElements of(const std::set<int>& entities) const;

 private:
  /// Sorted vertices of a facet, padded in front with no_node to four.
  using Key = std::array<std::int32_t, 4>;
  struct HashKey {
    std::size_t operator()(const Key& key) const;
  };
  /// Number of cells that share a facet, and the first of them.
  struct Cells {
    int count = 0;
    BoundaryFacet first{};
  };

  Key key_of(const ElementBlock& block, std::size_t element) const;
  void find_cells(const Mesh& mesh, const std::vector<char>& touched);

  const RawMesh* raw_;
  std::span<const std::int32_t> node_numbers_;
  std::unordered_map<Key, Cells, HashKey> table_;
};

}  // namespace femcg::mesh
