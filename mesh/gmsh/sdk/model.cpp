#include "mesh/gmsh/sdk/model.hpp"

#include <fmt/format.h>
#include <gmsh.h>

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <stdexcept>

#include "mesh/gmsh/raw/counted.hpp"
#include "mesh/gmsh/sdk/sizes.hpp"

namespace femcg::mesh {

namespace {

// Nodes are copied from Gmsh's arrays to shared memory unconverted.
static_assert(sizeof(std::size_t) == sizeof(std::uint64_t));

/// Calls visit(entity, type, nodes) for the elements of each type on each entity; returns the number of calls.
template <class Visit>
std::int64_t for_each_block(int dimension, Visit&& visit) {
  std::int64_t blocks = 0;
  gmsh::vectorpair entities;
  gmsh::model::getEntities(entities, dimension);
  for (const auto& [d, tag] : entities) {
    std::vector<int> types;
    std::vector<std::vector<std::size_t>> elements, nodes;
    gmsh::model::mesh::getElements(types, elements, nodes, d, tag);
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (elements[i].empty()) continue;
      visit(tag, types[i], std::span<const std::size_t>(nodes[i]));
      ++blocks;
    }
  }
  return blocks;
}

/// Element types on the entities of one dimension, repeated for each entity.
std::vector<int> types_of_blocks(int dimension) {
  std::vector<int> all, types;
  gmsh::vectorpair entities;
  gmsh::model::getEntities(entities, dimension);
  for (const auto& [d, tag] : entities) {
    gmsh::model::mesh::getElementTypes(types, d, tag);
    all.insert(all.end(), types.begin(), types.end());
  }
  return all;
}

void write_groups(SharedWriter& writer) {
  gmsh::vectorpair groups;
  gmsh::model::getPhysicalGroups(groups);
  writer.number(static_cast<std::int64_t>(groups.size()));
  for (const auto& [dimension, tag] : groups) {
    std::string name;
    gmsh::model::getPhysicalName(dimension, tag, name);
    std::vector<int> entities;
    gmsh::model::getEntitiesForPhysicalGroup(dimension, tag, entities);
    writer.number(dimension);
    writer.number(tag);
    writer.text(name.empty() ? std::to_string(tag) : name);
    writer.array(std::span(entities));
  }
}

/// Writes entity names; for solids in a STEP file, the last part of "Shapes/assembly/1/part".
void write_names(SharedWriter& writer) {
  gmsh::vectorpair entities;
  gmsh::model::getEntities(entities);
  std::map<std::pair<int, int>, std::string> names;
  for (const auto& [dimension, tag] : entities) {
    std::string name;
    gmsh::model::getEntityName(dimension, tag, name);
    name.erase(0, name.rfind('/') + 1);
    if (!name.empty()) names[{dimension, tag}] = name;
  }
  writer.number(static_cast<std::int64_t>(names.size()));
  for (const auto& [entity, name] : names) {
    writer.number(entity.first);
    writer.number(entity.second);
    writer.text(name);
  }
}

void write_types(const std::set<int>& types, SharedWriter& writer) {
  writer.number(static_cast<std::int64_t>(types.size()));
  for (const int number : types) {
    ElementType type = element_type(number);
    writer.number(number);
    writer.text(type.name);
    for (const int value : {type.dimension, type.order, type.nodes, type.corners}) writer.number(value);
    writer.array(std::span(type.points));
  }
}

void write_points(double factor, SharedWriter& writer) {
  // Tags in a file may be sparse, and if tag 0 occurs Gmsh gives two nodes the same tag.
  gmsh::model::mesh::renumberNodes();
  std::vector<std::size_t> tags;
  std::vector<double> points, parameters;
  gmsh::model::mesh::getNodes(tags, points, parameters);
  std::vector<double> sorted(points.size());
  for (std::size_t i = 0; i < tags.size(); ++i) {
    if (tags[i] < 1 || tags[i] > tags.size()) throw std::runtime_error("Gmsh numbers its nodes with gaps");
    for (int axis = 0; axis < 3; ++axis) sorted[3 * (tags[i] - 1) + axis] = factor * points[3 * i + axis];
  }
  writer.array(std::span(sorted));
}

void write_blocks(int dimension, std::size_t count, SharedWriter& writer) {
  writer.number(static_cast<std::int64_t>(count));
  for_each_block(dimension, [&](int entity, int type, std::span<const std::size_t> nodes) {
    writer.number(entity);
    writer.number(type);
    writer.array(nodes);
  });
}

}  // namespace

ElementType element_type(int type) {
  ElementType t;
  gmsh::model::mesh::getElementProperties(type, t.name, t.dimension, t.order, t.nodes, t.points, t.corners);
  return t;
}

void join_partitions(std::size_t declared, std::vector<std::string>& warnings) {
  std::set<int> present;
  gmsh::vectorpair entities;
  gmsh::model::getEntities(entities, gmsh::model::getDimension());
  for (const auto& [dimension, tag] : entities) {
    std::vector<int> partitions, types;
    gmsh::model::getPartitions(dimension, tag, partitions);
    gmsh::model::mesh::getElementTypes(types, dimension, tag);
    if (!types.empty()) present.insert(partitions.begin(), partitions.end());
  }
  if (present.size() < declared)
    throw std::runtime_error(
        fmt::format("it has the cells of {} of {} partitions: one part of a partitioned mesh cannot be solved alone; "
                    "give the whole mesh",
                    present.size(), declared));
  if (present.empty()) return;
  gmsh::model::mesh::unpartition();
  warnings.push_back(fmt::format("joined {} of the mesh", counted(present.size(), "partition")));
}

void write_raw_mesh(const std::vector<std::string>& warnings, const MeshingPlan& plan, bool is_mesh_file,
                    SharedWriter& writer) {
  writer.number(static_cast<std::int64_t>(warnings.size()));
  for (const std::string& warning : warnings) writer.text(warning);
  write_groups(writer);
  write_names(writer);
  int dimension = 3;
  if (plan.facets_only ? gmsh::model::getDimension() == 2 : types_of_blocks(dimension).empty()) dimension = 2;
  const std::vector<int> of_cells = types_of_blocks(dimension), of_facets = types_of_blocks(dimension - 1);
  std::set<int> types(of_cells.begin(), of_cells.end());
  types.insert(of_facets.begin(), of_facets.end());
  write_types(types, writer);
  write_points(plan.factor, writer);
  writer.number(dimension);
  write_blocks(dimension, of_cells.size(), writer);
  write_blocks(dimension - 1, of_facets.size(), writer);
  const double measure = is_mesh_file ? 0 : measure_of_model(dimension, plan.factor).value_or(0);
  writer.array(std::span(&measure, measure > 0 ? 1 : 0));
}

}  // namespace femcg::mesh
