#include "solver/inspection/inspection_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <vector>

#include "solver/inspection/drafted_groups.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/messages/units.hpp"

namespace femcg::solver {

namespace {

using Row = std::vector<std::string>;

/// Formats columns, two blanks apart; the first, with tags, is right-aligned. Omits empty columns.
std::string columns(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  std::vector<char> used(widths.size(), 0);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t c = 0; c < widths.size(); ++c) {
      widths[c] = std::max(widths[c], rows[r][c].size());
      used[c] |= r > 0 && rows[r][c] != "-";
    }
  std::string text;
  for (const Row& row : rows) {
    std::string line = fmt::format("{:>{}}", row[0], widths[0] + 2);
    for (std::size_t c = 1; c < row.size(); ++c)
      if (used[c]) line += fmt::format("  {:{}}", row[c], widths[c]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

/// Text with four digits; values that are negligible compared with the mesh become 0.
std::string coordinate(double x, double extent) { return fmt::format("{:.4g}", std::abs(x) < 1e-6 * extent ? 0.0 : x); }

std::string point(std::span<const double> x, double extent) {
  Row numbers;
  for (const double each : x) numbers.push_back(coordinate(each, extent));
  return fmt::format("({})", fmt::join(numbers, ", "));
}

/// Largest absolute coordinate of the mesh.
double extent_of(const Inspection& all) {
  double extent = 0;
  for (const MeasuredEntity& region : all.regions)
    for (int i = 0; i < all.dimension; ++i)
      extent = std::max({extent, std::abs(region.low[i]), std::abs(region.high[i])});
  return extent;
}

const char* measure_name(int dimension) { return dimension == 3 ? "volume" : dimension == 2 ? "area" : "length"; }

std::string number_of(const mesh::Entity& entity) { return fmt::format("{}", entity.tag); }

std::string neighbours(const MeasuredEntity& of, const Inspection& all) {
  Row tags;
  for (const std::int32_t region : of.neighbours) tags.push_back(number_of(all.regions[region].entity));
  return tags.empty() ? "-" : fmt::format("{}", fmt::join(tags, ", "));
}

Row row_of(const MeasuredEntity& one, const std::string& tag, const Inspection& all, double extent) {
  Row box;
  for (int i = 0; i < all.dimension; ++i)
    box.push_back(fmt::format("[{}, {}]", coordinate(one.low[i], extent), coordinate(one.high[i], extent)));
  const auto or_dash = [](const std::string& text) { return text.empty() ? "-" : on_one_line(text, 30); };
  return {tag,
          or_dash(one.entity.name),
          or_dash(fmt::format("{}", fmt::join(one.entity.groups, ", "))),
          grouped(one.elements),
          fmt::format("{:.6g}", one.measure),
          point(std::span(one.centre).first(all.dimension), extent),
          fmt::format("{}", fmt::join(box, " x ")),
          neighbours(one, all)};
}

std::string table(const std::string& title, const std::vector<MeasuredEntity>& entities, int dimension,
                  const char* elements, const char* beside, const Inspection& all, const MeasuredEntity* unnamed) {
  const double extent = extent_of(all);
  std::vector<Row> rows{{"tag", "name", "groups", elements, measure_name(dimension), "centre", "box", beside}};
  for (const MeasuredEntity& one : entities) rows.push_back(row_of(one, number_of(one.entity), all, extent));
  if (unnamed != nullptr && unnamed->elements > 0) rows.push_back(row_of(*unnamed, "none", all, extent));
  return "\n" + title + "\n" + columns(rows);
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string settings(const mesh::GmshOptions& options) {
  std::string text;
  if (options.unit != "auto") text += fmt::format("  unit: {}\n", options.unit);
  if (options.scale != 1) text += fmt::format("  scale: {}\n", options.scale);
  if (options.size) text += fmt::format("  size: {}\n", *options.size);
  if (options.order != 1) text += fmt::format("  order: {}\n", options.order);
  if (options.tensor_cells || options.simplices)
    text += fmt::format("  cells: {}\n", options.tensor_cells ? "tensor" : "simplex");
  if (options.refine != 0) text += fmt::format("  refine: {}\n", options.refine);
  return text;
}

}  // namespace

std::string to_text(const Inspection& all) {
  const bool solid = all.dimension == 3;
  std::string text =
      table("regions", all.regions, all.dimension, "cells", "touches", all, nullptr) +
      table(solid ? "faces" : "edges", all.faces, all.dimension - 1, "facets", "of regions", all, &all.unnamed);
  const double extent = extent_of(all);
  const auto row = [&](const char* what, const Extreme& extreme, const char* unit) {
    return Row{what, fmt::format("{:.4g}{}", extreme.worst, unit), fmt::format("{:.4g}{}", extreme.mean, unit),
               point(std::span(extreme.at).first(all.dimension), extent)};
  };
  return text + "\nquality\n" +
         columns({{"of cells", "worst", "mean", "worst at"},
                  row("smallest angle", all.smallest_angle, " deg"),
                  row("largest angle", all.largest_angle, " deg"),
                  row("Jacobian ratio", all.jacobian, ""),
                  row("aspect ratio", all.aspect, "")});
}

std::string draft_of_groups(const Inspection& all, const std::vector<DraftedGroup>& drafted,
                            const mesh::GmshOptions& options) {
  std::set<std::string> taken;
  for (const std::vector<MeasuredEntity>* parts : {&all.regions, &all.faces})
    for (const MeasuredEntity& part : *parts) taken.insert(part.entity.groups.begin(), part.entity.groups.end());
  const double extent = extent_of(all);
  std::string lines;
  std::set<std::pair<int, int>> held;  // dimensions and tags
  for (const std::vector<MeasuredEntity>* parts : {&all.regions, &all.faces})
    for (const MeasuredEntity& part : *parts)
      if (!part.entity.groups.empty()) held.insert({parts == &all.regions ? 3 : 2, part.entity.tag});
  for (const DraftedGroup& group : drafted) {
    const auto is_held = [&](int tag) { return held.contains({group.dimension, tag}); };
    if (std::ranges::any_of(group.tags, is_held) || !taken.insert(group.name).second) continue;
    lines += fmt::format("    {}\n", line_of(group));
    for (const int tag : group.tags) held.insert({group.dimension, tag});
  }
  const auto add = [&](const std::vector<MeasuredEntity>& parts, int dimension, const char* kind) {
    for (const MeasuredEntity& part : parts) {
      if (!part.entity.groups.empty() || held.contains({dimension, part.entity.tag})) continue;
      const std::string about = fmt::format("{} {:.4g} about {}", measure_name(dimension), part.measure,
                                            point(std::span(part.centre).first(all.dimension), extent));
      if (part.inside)
        lines +=
            fmt::format("    # {} {} lies inside, where no condition can hold: {}\n", kind, part.entity.tag, about);
      else
        lines += fmt::format("    {}: {{dimension: {}, tags: [{}]}}   # {}\n", name_of_part(part.entity, kind, taken),
                             dimension, part.entity.tag, about);
    }
  };
  add(all.regions, all.dimension, "region");
  add(all.faces, all.dimension - 1, all.dimension == 3 ? "face" : "edge");
  if (lines.find("dimension:") == std::string::npos) return {};
  return "# A draft of mesh.groups: give the parts names of your own, and leave out what needs none.\nmesh:\n  file: " +
         quoted(options.file.string()) + "\n" + settings(options) + "  groups:\n" + lines;
}

}  // namespace femcg::solver
