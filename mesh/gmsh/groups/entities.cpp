#include "mesh/gmsh/groups/entities.hpp"

#include <fmt/format.h>

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

std::set<int> tags_of(const std::vector<ElementBlock>& blocks) {
  std::set<int> tags;
  for (const ElementBlock& block : blocks) tags.insert(block.entity);
  return tags;
}

/// Names of entities from physical groups and rules. A rule that does not apply gives a warning, not an error: this
/// mesh is for inspecting entities.
EntityNames groups_of(const RawMesh& raw, const GmshOptions& options, int dimension,
                      std::vector<std::string>& warnings) {
  EntityNames names = physical_names(raw, dimension);
  for (const auto& [name, rule] : options.groups) {
    const bool wrong = rule.dimension != raw.dimension && rule.dimension != raw.dimension - 1;
    if (rule.dimension != dimension && !(wrong && dimension == raw.dimension)) continue;
    try {
      for (const int entity : entities_of(raw, name, rule, &warnings)) add_name(names, entity, name);
    } catch (const std::runtime_error& error) {
      warnings.emplace_back(error.what());
    }
  }
  return names;
}

Entity entity(const RawMesh& raw, int dimension, int tag, const EntityNames& groups) {
  Entity made{tag, {}, {}};
  if (const auto name = raw.names.find({dimension, tag}); name != raw.names.end()) made.name = name->second;
  if (const auto of_entity = groups.find(tag); of_entity != groups.end()) made.groups = of_entity->second;
  return made;
}

}  // namespace

std::vector<Entity> assign_region_entities(const RawMesh& raw, const GmshOptions& options, Mesh& mesh) {
  const EntityNames groups = groups_of(raw, options, raw.dimension, mesh.warnings);
  std::vector<Entity> regions;
  std::map<int, std::int32_t> numbers;
  for (const int tag : tags_of(raw.cells)) {
    numbers[tag] = static_cast<std::int32_t>(regions.size());
    regions.push_back(entity(raw, raw.dimension, tag, groups));
    mesh.region_names.push_back(std::to_string(tag));
  }
  for (const ElementBlock& block : raw.cells)
    mesh.cell_regions.insert(mesh.cell_regions.end(), block.size(), numbers.at(block.entity));
  return regions;
}

std::vector<Entity> assign_face_entities(const RawMesh& raw, const GmshOptions& options,
                                         std::span<const std::int32_t> node_numbers, Mesh& mesh) {
  const EntityNames groups = groups_of(raw, options, raw.dimension - 1, mesh.warnings);
  const std::set<int> tags = tags_of(raw.facets);
  const EntityFacets all(raw, tags, node_numbers, mesh);
  std::vector<Entity> faces;
  std::size_t strays = 0;
  for (const int tag : tags) {
    FacetsOfElements found = all.of({tag});
    strays += found.strays;
    found.outer.insert(found.outer.end(), found.inner.begin(), found.inner.end());
    if (found.outer.empty()) continue;
    faces.push_back(entity(raw, raw.dimension - 1, tag, groups));
    mesh.boundaries.push_back({std::to_string(tag), std::move(found.outer)});
  }
  if (strays > 0)
    mesh.warnings.push_back(
        fmt::format("left out {} that {} no facet of a cell", counted(strays, "element"), strays == 1 ? "is" : "are"));
  return faces;
}

}  // namespace femcg::mesh
