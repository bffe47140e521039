#include "mesh/gmsh/groups/boundary_faces.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "mesh/boundary_surface.hpp"
#include "mesh/element/facet_nodes.hpp"

namespace femcg::mesh {

namespace {

constexpr std::size_t most_faces = 1000;  // of a rough surface; beyond, each connected surface is one face

class BoundaryFaces {
 public:
  BoundaryFaces(const RawMesh& raw, std::span<const std::int32_t> node_numbers, const Mesh& mesh)
      : raw_(&raw), mesh_(&mesh), vertices_(mesh), raw_numbers_(static_cast<std::size_t>(mesh.node_count()), 0) {
    for (std::size_t i = 0; i < node_numbers.size(); ++i)
      if (node_numbers[i] != no_node) raw_numbers_[node_numbers[i]] = i + 1;
    const Lattice lattice(mesh.shape, mesh.order);
    for (int f = 0; f < static_cast<int>(mesh::facets(mesh.shape).size()); ++f)
      nodes_.push_back(nodes_around_facet(lattice, f));
    find_facets(node_numbers);
    join(smooth_angle);
    if (count_faces() > most_faces) join(4);
  }

  bool empty() const { return facets_.empty(); }

  /// Raw node numbers of a facet: its vertices, and those further nodes that the file has.
  std::vector<std::uint64_t> nodes(std::size_t facet) const {
    std::vector<std::uint64_t> found;
    const auto of_cell = mesh_->nodes(facets_[facet].cell);
    for (const int node : nodes_[facets_[facet].facet])
      if (const std::uint64_t number = raw_numbers_[of_cell[node]]; number > 0) found.push_back(number);
    return found;
  }

  /// Facets of each entity: faces in the order of their first facets, then the parts of faces that match rules.
  std::vector<std::vector<std::size_t>> entities(const GmshOptions& options) {
    std::map<std::size_t, std::map<std::vector<bool>, std::vector<std::size_t>>> faces;  // by first facet, then rules
    for (std::size_t f = 0; f < facets_.size(); ++f) faces[first_of(f)][rules_of(f, options)].push_back(f);
    std::vector<std::vector<std::size_t>> whole, parts;
    for (auto& [first, by_rules] : faces)
      for (auto& [rules, facets] : by_rules)
        (&facets == &by_rules.begin()->second ? whole : parts).push_back(std::move(facets));
    whole.insert(whole.end(), std::make_move_iterator(parts.begin()), std::make_move_iterator(parts.end()));
    return whole;
  }

 private:
  void find_facets(std::span<const std::int32_t> node_numbers) {
    std::vector<std::array<std::int32_t, 4>> covered;
    for (const ElementBlock& block : raw_->facets)
      for (std::size_t e = 0; e < block.size(); ++e) {
        auto& key = covered.emplace_back(std::array{no_node, no_node, no_node, no_node});
        for (int v = 0; v < block.corners; ++v) key[v] = node_numbers[block.nodes[e * block.nodes_per_element + v] - 1];
        std::ranges::sort(key);
      }
    std::ranges::sort(covered);
    facets_ = boundary_facets(*mesh_);
    std::erase_if(
        facets_, [&](const BoundaryFacet& facet) { return std::ranges::binary_search(covered, vertices_.key(facet)); });
  }

  std::size_t first_of(std::size_t facet) {
    while (first_[facet] != facet) facet = first_[facet] = first_[first_[facet]];
    return facet;
  }

  void join(double below) {
    first_.resize(facets_.size());
    std::iota(first_.begin(), first_.end(), std::size_t{0});
    for (const FacetPair& pair : facet_pairs(*mesh_, facets_)) {
      const std::size_t a = first_of(pair.first), b = first_of(pair.second);
      if (a != b && pair.angle < below) first_[std::max(a, b)] = std::min(a, b);
    }
  }

  std::size_t count_faces() {
    std::size_t count = 0;
    for (std::size_t f = 0; f < facets_.size(); ++f) count += first_of(f) == f ? 1 : 0;
    return count;
  }

  /// For each rule on boundary facets, true if it holds at all nodes of the facet.
  std::vector<bool> rules_of(std::size_t facet, const GmshOptions& options) const {
    std::vector<bool> holds;
    const std::vector<std::uint64_t> at = nodes(facet);
    for (const auto& [name, rule] : options.groups)
      if (rule.where && rule.dimension == raw_->dimension - 1)
        holds.push_back(std::ranges::all_of(at, [this, &where = rule.where](std::uint64_t node) {
          const double* x = raw_->point(node);
          return where(x[0], x[1], x[2]);
        }));
    return holds;
  }

  const RawMesh* raw_;
  const Mesh* mesh_;
  FacetVertices vertices_;
  std::vector<std::uint64_t> raw_numbers_;  ///< of the mesh's nodes; 0 if the file lacks the node
  std::vector<std::vector<int>> nodes_;     ///< nodes of a cell, [facets][nodes]
  std::vector<BoundaryFacet> facets_;
  std::vector<std::size_t> first_;  ///< union-find: leads to the first facet of the face
};

/// Owns the arrays that the spans of a raw mesh refer to.
struct Storage {
  std::shared_ptr<const void> of_file;
  std::vector<std::vector<std::uint64_t>> nodes;
};

}  // namespace

RawMesh with_boundary_faces(const RawMesh& raw, const GmshOptions& options, std::span<const std::int32_t> node_numbers,
                            const Mesh& mesh) {
  RawMesh made = raw;
  BoundaryFaces faces(raw, node_numbers, mesh);
  if (faces.empty()) return made;
  int tag = 0;
  for (const ElementBlock& block : raw.facets) tag = std::max(tag, block.entity);
  for (const PhysicalGroup& group : raw.groups)
    if (group.dimension == raw.dimension - 1)
      for (const int entity : group.entities) tag = std::max(tag, std::abs(entity));
  const int type = raw.types.empty() ? 0 : raw.types.rbegin()->first + 1;
  const auto storage = std::make_shared<Storage>(Storage{raw.owner, {}});
  const std::vector<std::vector<std::size_t>> entities = faces.entities(options);
  for (const std::vector<std::size_t>& facets : entities) {
    std::vector<std::uint64_t>& nodes = storage->nodes.emplace_back();
    for (const std::size_t facet : facets) {
      const std::vector<std::uint64_t> of_facet = faces.nodes(facet);
      nodes.insert(nodes.end(), of_facet.begin(), of_facet.end());
    }
    const int each = static_cast<int>(nodes.size() / facets.size());
    const int corners = static_cast<int>(FacetVertices(mesh).count());
    made.types.try_emplace(type, ElementType{"facet", raw.dimension - 1, mesh.order, each, corners, {}});
    made.facets.push_back({++tag, type, each, corners, std::span<const std::uint64_t>(nodes)});
  }
  made.owner = storage;
  return made;
}

}  // namespace femcg::mesh
