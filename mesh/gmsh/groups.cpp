#include "mesh/gmsh/groups.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "mesh/reference_cell.hpp"

namespace femcg::mesh {

namespace {

/// Names of each entity of one dimension.
using EntityNames = std::map<int, std::vector<std::string>>;

void add_name(EntityNames& names, int entity, const std::string& name) {
  std::vector<std::string>& of_entity = names[entity];
  if (std::find(of_entity.begin(), of_entity.end(), name) == of_entity.end()) of_entity.push_back(name);
}

EntityNames physical_names(const RawMesh& raw, int dimension) {
  EntityNames names;
  for (const PhysicalGroup& group : raw.groups)
    if (group.dimension == dimension)
      for (const int entity : group.entities) add_name(names, std::abs(entity), group.name);
  return names;
}

/// "4 of dimension 2: 1 in [0, 1] x [0, 1] x [0, 0], ..." for the error of a rule that matches nothing.
std::string describe_entities(const RawMesh& raw, const std::vector<ElementBlock>& blocks, int dimension) {
  std::map<int, std::array<double, 6>> boxes;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const ElementBlock& block : blocks) {
    auto& box =
        boxes.try_emplace(block.entity, std::array{infinity, infinity, infinity, -infinity, -infinity, -infinity})
            .first->second;
    for (const std::uint64_t node : block.nodes)
      for (int i = 0; i < 3; ++i) {
        box[i] = std::min(box[i], raw.point(node)[i]);
        box[i + 3] = std::max(box[i + 3], raw.point(node)[i]);
      }
  }
  std::vector<std::string> list;
  for (const auto& [tag, box] : boxes) {
    if (list.size() == 10) {
      list.push_back("...");
      break;
    }
    list.push_back(fmt::format("{} in [{:.4g}, {:.4g}] x [{:.4g}, {:.4g}] x [{:.4g}, {:.4g}]", tag, box[0], box[3],
                               box[1], box[4], box[2], box[5]));
  }
  return fmt::format("there are {} entities of dimension {} with elements{}{}", boxes.size(), dimension,
                     boxes.empty() ? "" : ": ", fmt::join(list, ", "));
}

bool holds_everywhere(const RawMesh& raw, const ElementBlock& block, const GroupRule& rule) {
  return std::all_of(block.nodes.begin(), block.nodes.end(), [&](std::size_t node) {
    const double* x = raw.point(node);
    return rule.where(x[0], x[1], x[2]);
  });
}

/// The entities that one rule names. Throws where a tag is unknown, or nothing matches.
std::set<int> matches(const RawMesh& raw, const std::vector<ElementBlock>& blocks, const std::string& name,
                      const GroupRule& rule) {
  std::set<int> present, failed;
  for (const ElementBlock& block : blocks) {
    present.insert(block.entity);
    if (!rule.where || !holds_everywhere(raw, block, rule)) failed.insert(block.entity);
  }
  std::set<int> found;
  std::set_difference(present.begin(), present.end(), failed.begin(), failed.end(), std::inserter(found, found.end()));
  for (const int tag : rule.tags) {
    if (!present.contains(tag))
      throw std::runtime_error(
          fmt::format("group '{}' names entity {}, but {}", name, tag, describe_entities(raw, blocks, rule.dimension)));
    found.insert(tag);
  }
  if (found.empty())
    throw std::runtime_error(
        fmt::format("group '{}' matches nothing; {}", name, describe_entities(raw, blocks, rule.dimension)));
  return found;
}

EntityNames rule_names(const RawMesh& raw, const GmshOptions& options, int dimension) {
  EntityNames names;
  for (const auto& [name, rule] : options.groups) {
    if (rule.dimension != raw.dimension && rule.dimension != raw.dimension - 1)
      throw std::runtime_error(fmt::format("group '{}' has dimension {}, but here regions have {} and boundaries {}",
                                           name, rule.dimension, raw.dimension, raw.dimension - 1));
    if (rule.dimension != dimension) continue;
    const std::vector<ElementBlock>& blocks = dimension == raw.dimension ? raw.cells : raw.facets;
    for (const int entity : matches(raw, blocks, name, rule)) add_name(names, entity, name);
  }
  return names;
}

/// The one region of an entity: its rule's, else its first physical group's, else "".
std::string region_of(int entity, const EntityNames& ruled, const EntityNames& physical,
                      std::vector<std::string>& remarks) {
  if (const auto found = ruled.find(entity); found != ruled.end()) {
    if (found->second.size() > 1)
      throw std::runtime_error(fmt::format("groups {} all match entity {}, but a cell has one region",
                                           fmt::join(found->second, ", "), entity));
    return found->second.front();
  }
  const auto found = physical.find(entity);
  if (found == physical.end()) return {};
  if (found->second.size() > 1)
    remarks.push_back(fmt::format("entity {} is in the groups {}: its cells belong to the first, '{}'", entity,
                                  fmt::join(found->second, ", "), found->second.front()));
  return found->second.front();
}

/// Sorted vertices of a facet, after as many times no_node as it has less than four.
using FacetKey = std::array<std::int32_t, 4>;

struct HashFacet {
  std::size_t operator()(const FacetKey& key) const {
    std::uint64_t hash = 0;
    for (const std::int32_t node : key)
      hash = (hash ^ static_cast<std::uint32_t>(node)) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
    return hash;
  }
};

/// The cells that share a facet, and the first of them.
struct FacetCells {
  int count = 0;
  BoundaryFacet first{};
};

using FacetTable = std::unordered_map<FacetKey, FacetCells, HashFacet>;

FacetKey element_key(const ElementBlock& block, std::size_t element, std::span<const std::int32_t> node_numbers) {
  FacetKey key{no_node, no_node, no_node, no_node};
  for (int v = 0; v < block.corners; ++v) key[v] = node_numbers[block.nodes[element * block.nodes_per_element + v] - 1];
  std::sort(key.begin(), key.end());
  return key;
}

/// For every element of the entities with a name, the cells that it is a facet of.
FacetTable find_facets(const RawMesh& raw, const EntityNames& names, std::span<const std::int32_t> node_numbers,
                       const Mesh& mesh) {
  FacetTable table;
  std::vector<char> touched(mesh.node_count(), 0);
  for (const ElementBlock& block : raw.facets) {
    if (!names.contains(block.entity)) continue;
    for (std::size_t e = 0; e < block.size(); ++e) {
      const FacetKey key = element_key(block, e, node_numbers);
      table.try_emplace(key);
      for (const std::int32_t node : key)
        if (node != no_node) touched[node] = 1;
    }
  }
  const std::vector<int> vertices = Lattice(mesh.shape, mesh.order).vertex_nodes();
  const std::vector<SubEntity>& facets = mesh::facets(mesh.shape);
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell)
    for (int f = 0; f < static_cast<int>(facets.size()); ++f) {
      const int count = static_cast<int>(facets[f].vertices.size());
      FacetKey key{no_node, no_node, no_node, no_node};
      for (int v = 0; v < count; ++v) key[v] = mesh.nodes(cell)[vertices[facets[f].vertices[v]]];
      if (!std::all_of(key.begin(), key.begin() + count, [&](std::int32_t node) { return touched[node]; })) continue;
      std::sort(key.begin(), key.end());
      const auto found = table.find(key);
      if (found != table.end() && found->second.count++ == 0) found->second.first = {cell, f};
    }
  return table;
}

/// The facets of one boundary group, sorted; `inner` counts those left out because they lie between two cells.
std::vector<BoundaryFacet> group_facets(const RawMesh& raw, const std::string& name, const std::set<int>& entities,
                                        const FacetTable& table, std::span<const std::int32_t> node_numbers,
                                        std::size_t& inner) {
  std::vector<BoundaryFacet> facets;
  std::size_t strays = 0;
  for (const ElementBlock& block : raw.facets) {
    if (!entities.contains(block.entity)) continue;
    for (std::size_t e = 0; e < block.size(); ++e) {
      const FacetCells& cells = table.at(element_key(block, e, node_numbers));
      if (cells.count == 1) facets.push_back(cells.first);
      strays += cells.count == 0;
      inner += cells.count > 1;
    }
  }
  if (strays > 0)
    throw std::runtime_error(fmt::format(
        "{} of the boundary group '{}' matched no facet of a cell: the mesh of the boundary must consist of the "
        "sides of cells",
        counted(strays, "element"), name));
  // The older format repeats an element that is in several groups.
  const auto key = [](const BoundaryFacet& facet) { return std::pair(facet.cell, facet.facet); };
  std::sort(facets.begin(), facets.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  facets.erase(
      std::unique(facets.begin(), facets.end(), [&](const auto& a, const auto& b) { return key(a) == key(b); }),
      facets.end());
  return facets;
}

/// Groups of points, and of curves in space, name nothing that a scalar equation has conditions on.
void remark_unused_groups(const RawMesh& raw, std::vector<std::string>& remarks) {
  const int dimension = raw.dimension;
  std::vector<std::string> unused;
  for (const PhysicalGroup& group : raw.groups)
    if (group.dimension < dimension - 1) unused.push_back(group.name);
  if (!unused.empty())
    remarks.push_back(fmt::format("left out the groups of {}, which have no use here: {}",
                                  dimension == 3 ? "points and curves" : "points", fmt::join(unused, ", ")));
}

}  // namespace

void assign_regions(const RawMesh& raw, const GmshOptions& options, Mesh& mesh) {
  const EntityNames ruled = rule_names(raw, options, raw.dimension), physical = physical_names(raw, raw.dimension);
  const bool none = ruled.empty() && physical.empty();
  if (none) mesh.remarks.push_back("no group names the cells: they form the region 'domain'");
  std::map<std::string, std::int32_t> numbers;
  std::size_t unnamed = 0;
  for (const ElementBlock& block : raw.cells) {
    std::string name = none ? "domain" : region_of(block.entity, ruled, physical, mesh.remarks);
    if (name.empty()) {
      name = "unnamed";
      unnamed += block.size();
    }
    const auto [entry, is_new] = numbers.try_emplace(name, static_cast<std::int32_t>(mesh.region_names.size()));
    if (is_new) mesh.region_names.push_back(name);
    mesh.cell_regions.insert(mesh.cell_regions.end(), block.size(), entry->second);
  }
  if (unnamed > 0)
    mesh.remarks.push_back(fmt::format("put {} in no group into the region 'unnamed'", counted(unnamed, "cell")));
}

void assign_boundaries(const RawMesh& raw, const GmshOptions& options, std::span<const std::int32_t> node_numbers,
                       Mesh& mesh) {
  EntityNames names = physical_names(raw, raw.dimension - 1);
  for (const auto& [entity, ruled] : rule_names(raw, options, raw.dimension - 1))
    for (const std::string& name : ruled) add_name(names, entity, name);
  std::map<std::string, std::set<int>> groups;
  for (const auto& [entity, of_entity] : names)
    for (const std::string& name : of_entity) groups[name].insert(entity);

  const FacetTable table = find_facets(raw, names, node_numbers, mesh);
  for (const auto& [name, entities] : groups) {
    std::size_t inner = 0;
    std::vector<BoundaryFacet> facets = group_facets(raw, name, entities, table, node_numbers, inner);
    if (facets.empty() && options.groups.contains(name) && options.groups.at(name).dimension == raw.dimension - 1)
      throw std::runtime_error(
          fmt::format("group '{}' lies inside the domain, {} between two cells, where no boundary condition can hold",
                      name, counted(inner, "facet")));
    if (inner > 0)
      mesh.remarks.push_back(fmt::format("left out {} of the group '{}' between two cells{}", counted(inner, "facet"),
                                         name, facets.empty() ? ", and with that the group" : ""));
    else if (facets.empty())
      mesh.remarks.push_back(fmt::format("left out the boundary group '{}', which has no elements", name));
    if (!facets.empty()) mesh.boundaries.push_back({name, std::move(facets)});
  }
  remark_unused_groups(raw, mesh.remarks);
}

}  // namespace femcg::mesh
