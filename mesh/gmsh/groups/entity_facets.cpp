#include "mesh/gmsh/groups/entity_facets.hpp"

#include <algorithm>
#include <utility>

#include "mesh/element/reference_cell.hpp"

namespace femcg::mesh {

namespace {

/// Sorts facets and removes duplicates: format 2 repeats an element that is in several groups.
void sort_each_once(std::vector<BoundaryFacet>& facets) {
  const auto key = [](const BoundaryFacet& facet) { return std::pair(facet.cell, facet.facet); };
  std::sort(facets.begin(), facets.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  facets.erase(
      std::unique(facets.begin(), facets.end(), [&](const auto& a, const auto& b) { return key(a) == key(b); }),
      facets.end());
}

}  // namespace

std::size_t EntityFacets::HashKey::operator()(const Key& key) const {
  std::uint64_t hash = 0;
  for (const std::int32_t node : key)
    hash = (hash ^ static_cast<std::uint32_t>(node)) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
  return hash;
}

EntityFacets::EntityFacets(const RawMesh& raw, const std::set<int>& entities,
                           std::span<const std::int32_t> node_numbers, const Mesh& mesh)
    : raw_(&raw), node_numbers_(node_numbers) {
  std::vector<char> touched(mesh.node_count(), 0);
  for (const ElementBlock& block : raw.facets) {
    if (!entities.contains(block.entity)) continue;
    for (std::size_t e = 0; e < block.size(); ++e) {
      const Key key = key_of(block, e);
      table_.try_emplace(key);
      for (const std::int32_t node : key)
        if (node != no_node) touched[node] = 1;
    }
  }
  find_cells(mesh, touched);
}

EntityFacets::Key EntityFacets::key_of(const ElementBlock& block, std::size_t element) const {
  Key key{no_node, no_node, no_node, no_node};
  for (int v = 0; v < block.corners; ++v)
    key[v] = node_numbers_[block.nodes[element * block.nodes_per_element + v] - 1];
  std::sort(key.begin(), key.end());
  return key;
}

void EntityFacets::find_cells(const Mesh& mesh, const std::vector<char>& touched) {
  const std::vector<int> vertices = Lattice(mesh.shape, mesh.order).vertex_nodes();
  const std::vector<SubEntity>& facets = mesh::facets(mesh.shape);
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell)
    for (int f = 0; f < static_cast<int>(facets.size()); ++f) {
      const int count = static_cast<int>(facets[f].vertices.size());
      Key key{no_node, no_node, no_node, no_node};
      for (int v = 0; v < count; ++v) key[v] = mesh.nodes(cell)[vertices[facets[f].vertices[v]]];
      if (!std::all_of(key.begin(), key.begin() + count, [&](std::int32_t node) { return touched[node]; })) continue;
      std::sort(key.begin(), key.end());
      const auto found = table_.find(key);
      if (found != table_.end() && found->second.count++ == 0) found->second.first = {cell, f};
    }
}

FacetsOfElements EntityFacets::of(const std::set<int>& entities) const {
  FacetsOfElements found;
  for (const ElementBlock& block : raw_->facets) {
    if (!entities.contains(block.entity)) continue;
    for (std::size_t e = 0; e < block.size(); ++e) {
      const Cells& cells = table_.at(key_of(block, e));
      if (cells.count == 0)
        ++found.strays;
      else
        (cells.count == 1 ? found.outer : found.inner).push_back(cells.first);
    }
  }
  sort_each_once(found.outer);
  sort_each_once(found.inner);
  return found;
}

}  // namespace femcg::mesh
