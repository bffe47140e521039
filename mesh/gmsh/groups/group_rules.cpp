#include "mesh/gmsh/groups/group_rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>

#include "mesh/gmsh/groups/nearest_entity.hpp"

namespace femcg::mesh {

namespace {

/// Bounding box of some nodes.
struct Box {
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  void add(const RawMesh& raw, const ElementBlock& block) {
    for (const std::uint64_t node : block.nodes)
      for (int i = 0; i < 3; ++i) {
        least[i] = std::min(least[i], raw.point(node)[i]);
        greatest[i] = std::max(greatest[i], raw.point(node)[i]);
      }
  }
  double size() const { return std::hypot(greatest[0] - least[0], greatest[1] - least[1], greatest[2] - least[2]); }
  std::string text() const {
    constexpr double rounding = 1e-12;
    std::array<std::string, 3> axes;
    double largest = 0;
    for (int i = 0; i < 3; ++i) largest = std::max({largest, std::abs(least[i]), std::abs(greatest[i])});
    const auto plain = [&](double x) { return std::abs(x) < rounding * largest ? 0.0 : x; };
    for (int i = 0; i < 3; ++i) axes[i] = fmt::format("[{:.4g}, {:.4g}]", plain(least[i]), plain(greatest[i]));
    return fmt::format("{}", fmt::join(axes, " x "));
  }

  std::array<double, 3> least{infinity, infinity, infinity}, greatest{-infinity, -infinity, -infinity};
};

/// "4 of dimension 2: 1 in [0, 1] x [0, 1] x [0, 0], ..." for the error of a rule that matches nothing.
std::string describe_entities(const RawMesh& raw, const std::vector<ElementBlock>& blocks, int dimension) {
  std::map<int, Box> boxes;
  for (const ElementBlock& block : blocks) boxes[block.entity].add(raw, block);
  std::vector<std::string> list;
  for (const auto& [tag, box] : boxes) {
    if (list.size() == 10) {
      list.push_back("...");
      break;
    }
    list.push_back(fmt::format("{} in {}", tag, box.text()));
  }
  return fmt::format("there are {} entities of dimension {} with elements{}{}; femcg mesh shows them", boxes.size(),
                     dimension, boxes.empty() ? "" : ", in metres: ", fmt::join(list, ", "));
}

/// Warning for a condition that holds everywhere, which often is written in another unit.
std::string all_matched(const RawMesh& raw, const std::string& name, const GroupRule& rule, std::size_t count) {
  constexpr std::array<const char*, 3> kinds{"curves", "faces", "solids"};
  Box box;
  for (const ElementBlock& block : raw.elements(rule.dimension)) box.add(raw, block);
  return fmt::format("the condition of group '{}' matches all {} {}, which lie in {}, in metres", name, count,
                     kinds[rule.dimension - 1], box.text());
}

bool holds_everywhere(const RawMesh& raw, const ElementBlock& block, const GroupRule& rule) {
  return std::all_of(block.nodes.begin(), block.nodes.end(), [&](std::size_t node) {
    const double* x = raw.point(node);
    return rule.where(x[0], x[1], x[2]);
  });
}

/// Entity nearest to the rule's point; empty if no element has vertices. Throws if two are equally near. Warns if the
/// point is far away, often because of another unit.
std::optional<int> entity_near(const RawMesh& raw, const std::string& name, const GroupRule& rule,
                               std::vector<std::string>* warnings) {
  const Nearest nearest = nearest_entity(raw, rule.dimension, rule.near);
  if (!std::isfinite(nearest.distance)) return std::nullopt;
  if (nearest.runner_up != 0)
    throw std::runtime_error(fmt::format(
        "group '{}': entities {} and {} of dimension {} are as near to ({:.6g}), at {:.3g}: take a point that "
        "is nearer to one of them, or tags",
        name, nearest.entity, nearest.runner_up, rule.dimension, fmt::join(rule.near, ", "), nearest.distance));
  Box box;
  for (const ElementBlock& block : raw.elements(rule.dimension)) box.add(raw, block);
  if (warnings != nullptr && nearest.distance > box.size())
    warnings->push_back(
        fmt::format("group '{}': the point ({:.6g}) lies {:.3g} from the mesh, which lies in {}, in metres", name,
                    fmt::join(rule.near, ", "), nearest.distance, box.text()));
  return nearest.entity;
}

/// Entities with the rule's name that have elements. Throws if there are none.
std::set<int> entities_of_name(const RawMesh& raw, const std::set<int>& present, const std::string& name,
                               const GroupRule& rule) {
  std::set<int> found;
  std::set<std::string> names;
  for (const auto& [entity, entity_name] : raw.names) {
    if (entity.first != rule.dimension || !present.contains(entity.second)) continue;
    names.insert(entity_name);
    if (entity_name == rule.name) found.insert(entity.second);
  }
  if (found.empty())
    throw std::runtime_error(
        fmt::format("group '{}': nothing of dimension {} is called '{}'; {}{}", name, rule.dimension, rule.name,
                    names.empty() ? "the file gives no names there" : "there are ", fmt::join(names, ", ")));
  return found;
}

void check_dimension(const RawMesh& raw, const std::string& name, const GroupRule& rule) {
  if (rule.dimension != raw.dimension && rule.dimension != raw.dimension - 1)
    throw std::runtime_error(fmt::format("group '{}' has dimension {}, but here regions have {} and boundaries {}",
                                         name, rule.dimension, raw.dimension, raw.dimension - 1));
}

/// Entities of a physical group of the file.
std::set<int> entities_of_group(const RawMesh& raw, const std::string& name, int dimension) {
  std::set<int> entities;
  for (const PhysicalGroup& group : raw.groups)
    if (group.dimension == dimension && group.name == name)
      for (const int entity : group.entities) entities.insert(std::abs(entity));
  return entities;
}

}  // namespace

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

std::set<int> entities_of(const RawMesh& raw, const std::string& name, const GroupRule& rule,
                          std::vector<std::string>* warnings) {
  check_dimension(raw, name, rule);
  const std::vector<ElementBlock>& blocks = raw.elements(rule.dimension);
  std::set<int> present, failed;
  for (const ElementBlock& block : blocks) {
    present.insert(block.entity);
    if (!rule.where || !holds_everywhere(raw, block, rule)) failed.insert(block.entity);
  }
  std::set<int> found;
  std::set_difference(present.begin(), present.end(), failed.begin(), failed.end(), std::inserter(found, found.end()));
  if (warnings != nullptr && found.size() > 1 && found.size() == present.size())
    warnings->push_back(all_matched(raw, name, rule, found.size()));
  for (const int tag : rule.tags) {
    if (!present.contains(tag))
      throw std::runtime_error(
          fmt::format("group '{}' names entity {}, but {}", name, tag, describe_entities(raw, blocks, rule.dimension)));
    found.insert(tag);
  }
  if (!rule.near.empty())
    if (const auto entity = entity_near(raw, name, rule, warnings)) found.insert(*entity);
  if (!rule.name.empty()) found = entities_of_name(raw, present, name, rule);
  if (found.empty())
    throw std::runtime_error(
        fmt::format("group '{}' matches nothing; {}", name, describe_entities(raw, blocks, rule.dimension)));
  return found;
}

EntityNames rule_names(const RawMesh& raw, const GmshOptions& options, int dimension,
                       std::vector<std::string>& warnings) {
  EntityNames names;
  for (const auto& [name, rule] : options.groups) {
    check_dimension(raw, name, rule);
    if (rule.dimension != dimension) continue;
    const std::set<int> found = entities_of(raw, name, rule, &warnings);
    for (const int entity : found) add_name(names, entity, name);
    if (const std::set<int> of_file = entities_of_group(raw, name, dimension);
        !of_file.empty() && !std::ranges::includes(of_file, found))
      warnings.push_back(fmt::format(
          "the file has a group '{}' already: what its rule finds is added to that; take another name for it alone",
          name));
  }
  return names;
}

}  // namespace femcg::mesh
