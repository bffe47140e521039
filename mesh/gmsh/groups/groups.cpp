#include "mesh/gmsh/groups/groups.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "mesh/gmsh/groups/entity_facets.hpp"
#include "mesh/gmsh/groups/group_rules.hpp"
#include "mesh/gmsh/raw/counted.hpp"

namespace femcg::mesh {

namespace {

/// Region of an entity: by its rule, else its first physical group, else "".
std::string region_of(int entity, const EntityNames& ruled, const EntityNames& physical,
                      std::vector<std::string>& warnings) {
  if (const auto found = ruled.find(entity); found != ruled.end()) {
    if (found->second.size() > 1)
      throw std::runtime_error(fmt::format("groups {} all match entity {}, but a cell has one region",
                                           fmt::join(found->second, ", "), entity));
    return found->second.front();
  }
  const auto found = physical.find(entity);
  if (found == physical.end()) return {};
  if (found->second.size() > 1)
    warnings.push_back(fmt::format("entity {} is in the groups {}: its cells belong to the first, '{}'", entity,
                                   fmt::join(found->second, ", "), found->second.front()));
  return found->second.front();
}

std::set<int> entities_with_names(const EntityNames& names) {
  std::set<int> entities;
  for (const auto& [entity, of_entity] : names) entities.insert(entity);
  return entities;
}

/// Warns about groups of points, and of curves in 3D, on which a scalar equation has no conditions.
void warning_unused_groups(const RawMesh& raw, std::vector<std::string>& warnings) {
  const int dimension = raw.dimension;
  std::vector<std::string> unused;
  for (const PhysicalGroup& group : raw.groups)
    if (group.dimension < dimension - 1) unused.push_back(group.name);
  if (!unused.empty())
    warnings.push_back(fmt::format("left out the groups of {}, which have no use here: {}",
                                   dimension == 3 ? "points and curves" : "points", fmt::join(unused, ", ")));
}

}  // namespace

void assign_regions(const RawMesh& raw, const GmshOptions& options, Mesh& mesh) {
  const EntityNames ruled = rule_names(raw, options, raw.dimension, mesh.warnings),
                    physical = physical_names(raw, raw.dimension);
  const bool none = ruled.empty() && physical.empty();
  if (none) mesh.warnings.push_back("no group names the cells: they form the region 'domain'");
  std::map<std::string, std::int32_t> numbers;
  std::size_t unnamed = 0;
  for (const ElementBlock& block : raw.cells) {
    std::string name = none ? "domain" : region_of(block.entity, ruled, physical, mesh.warnings);
    if (name.empty()) {
      name = "unnamed";
      unnamed += block.size();
    }
    const auto [entry, is_new] = numbers.try_emplace(name, static_cast<std::int32_t>(mesh.region_names.size()));
    if (is_new) mesh.region_names.push_back(name);
    mesh.cell_regions.insert(mesh.cell_regions.end(), block.size(), entry->second);
  }
  if (unnamed > 0)
    mesh.warnings.push_back(fmt::format("put {} in no group into the region 'unnamed'", counted(unnamed, "cell")));
}

void assign_boundaries(const RawMesh& raw, const GmshOptions& options, std::span<const std::int32_t> node_numbers,
                       Mesh& mesh) {
  EntityNames names = physical_names(raw, raw.dimension - 1);
  for (const auto& [entity, ruled] : rule_names(raw, options, raw.dimension - 1, mesh.warnings))
    for (const std::string& name : ruled) add_name(names, entity, name);
  std::map<std::string, std::set<int>> groups;
  for (const auto& [entity, of_entity] : names)
    for (const std::string& name : of_entity) groups[name].insert(entity);

  const EntityFacets all(raw, entities_with_names(names), node_numbers, mesh);
  for (const auto& [name, entities] : groups) {
    FacetsOfElements facets = all.of(entities);
    if (facets.strays > 0)
      throw std::runtime_error(
          fmt::format("{} of the boundary group '{}' matched no facet of a cell: the mesh of the boundary must consist "
                      "of the sides of cells",
                      counted(facets.strays, "element"), name));
    const std::size_t inner = facets.inner.size();
    const bool empty = facets.outer.empty();
    if (empty && options.groups.contains(name) && options.groups.at(name).dimension == raw.dimension - 1)
      throw std::runtime_error(
          fmt::format("group '{}' lies inside the domain, {} between two cells, where no boundary condition can hold",
                      name, counted(inner, "facet")));
    if (inner > 0)
      mesh.warnings.push_back(fmt::format("left out {} of the group '{}' between two cells{}", counted(inner, "facet"),
                                          name, empty ? ", where no condition can hold" : ""));
    else if (empty)
      mesh.warnings.push_back(fmt::format("left out the boundary group '{}', which has no elements", name));
    // A group between cells keeps its name, with no facets, to be distinguished from an unknown group.
    if (!empty || inner > 0) mesh.boundaries.push_back({name, std::move(facets.outer)});
  }
  warning_unused_groups(raw, mesh.warnings);
}

}  // namespace femcg::mesh
