#include "solver/case/case_mesh_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "mesh/gmsh/check/file_kinds.hpp"
#include "mesh/gmsh/length_unit.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::solver {

namespace {

using Kind = CaseNode::Kind;

/// Reads 2 or 3 coordinates; empty if they are wrong.
std::vector<double> read_point(const ValueReader& value) {
  const auto items = value.items("a point of 2 or 3 coordinates");
  if (!items) return {};
  if (items->size() < 2 || items->size() > 3) {
    value.note(fmt::format("{} must be a point of 2 or 3 coordinates, not {}", value.path(), items->size()));
    return {};
  }
  std::vector<double> point;
  for (const ValueReader& item : *items) point.push_back(item.number().value_or(0.0));
  return point;
}

/// Reads the user's groups: names and conditions, the latter as text.
void read_groups(const MapReader& mesh, mesh::GmshOptions& options, std::map<std::string, Expression>& conditions) {
  const auto value = mesh.find("groups");
  if (!value) return;
  const auto groups = value->entries("name: {dimension: 2, tags: [1, 2]} or name: {dimension: 2, where: \"z < 1e-9\"}");
  if (!groups) return;
  for (const ValueReader& group : *groups) {
    const MapReader entries(group);
    if (!group.is(Kind::map)) continue;
    mesh::GroupRule rule;
    rule.dimension = static_cast<int>(entries.whole("dimension"));
    if (!entries.has("dimension"))
      mesh.problems().add(group.key_place(),
                          group.path() + " needs its dimension: 3 solids, 2 surfaces, 1 curves, such as dimension: 2");
    if (!entries.alternative())
      mesh.problems().add(group.key_place(),
                          group.path() + " needs either tags, where, near or name, exactly one of them");
    if (const auto tags = entries.find("tags"))
      if (const auto items = tags->items("a list of whole numbers"))
        for (const ValueReader& tag : *items) rule.tags.push_back(static_cast<int>(tag.whole().value_or(1)));
    if (const auto where = entries.find("where"))
      if (const auto condition = where->expression()) {
        rule.where = [expression = *condition](double x, double y, double z) { return expression(x, y, z) != 0; };
        conditions.emplace(group.key(), *condition);
      }
    if (const auto near = entries.find("near")) rule.near = read_point(*near);
    if (const auto name = entries.find("name"))
      if (const auto text = name->text()) {
        rule.name = *text;
        if (text->empty()) name->must_be("a name that the file gives; femcg mesh shows them");
      }
    options.groups.emplace(group.key(), std::move(rule));
  }
}

/// Reports a file that does not exist or is of an unknown kind.
void check_mesh_file(const ValueReader& value, const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error))
    value.note("mesh.file: there is no such file: " + in_quotes(file.string()));
  else if (std::filesystem::is_directory(file, error))
    value.note("mesh.file is a directory: " + in_quotes(file.string()));
  else if (!mesh::has_known_ending(file))
    value.note(fmt::format("mesh.file must be {}, not {}", mesh::known_endings, in_quotes(file.filename().string())));
}

}  // namespace

mesh::GmshOptions read_mesh_file(const MapReader& mesh, const std::filesystem::path& folder,
                                 std::map<std::string, Expression>& conditions) {
  mesh::GmshOptions options;
  if (const auto value = mesh.find("file"))
    if (const auto name = value->text()) {
      options.file = (folder / *name).lexically_normal();
      check_mesh_file(*value, options.file);
    }
  options.unit = mesh.choice("unit");
  options.scale = mesh.number("scale");
  if (const auto size = mesh.find("size")) options.size = size->number();
  options.order = static_cast<int>(mesh.whole("order"));
  options.tensor_cells = mesh.choice("cells") == "tensor";
  options.simplices = mesh.choice("cells") == "simplex";
  if (mesh::has_mesh_ending(options.file))
    for (const char* key : {"size", "sizes", "order", "cells", "cache"})
      if (const auto value = mesh.find(key))
        value->note(fmt::format("mesh.{} is for geometry files; a {} file is meshed already", key,
                                mesh::ending_of(options.file)));
  read_groups(mesh, options, conditions);
  if (const auto sizes = mesh.find("sizes"))
    if (const auto entries = sizes->entries("group: size, such as bore: 0.001"))
      for (const ValueReader& size : *entries)
        if (const auto length = size.number()) options.sizes.emplace(size.key(), *length);
  return options;
}

}  // namespace femcg::solver
