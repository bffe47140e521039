#include "solver/case/case_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "solver/messages/sentence.hpp"

namespace femcg::solver {

int known_dimension(const MeshChoice& mesh) {
  const auto* box = std::get_if<mesh::BoxOptions>(&mesh.source);
  return box ? mesh::dimension(box->shape) : 0;
}

bool read_point(const ValueReader& value, int dimension, std::array<double, 3>& point) {
  const auto coordinates = value.items("a point, such as [0.5, 0.5]");
  if (!coordinates) return false;
  const std::size_t count = coordinates->size();
  if (count < 2 || count > 3 || (dimension != 0 && count != static_cast<std::size_t>(dimension))) {
    const std::string right = dimension != 0 ? fmt::format("{}", dimension) : "2 or 3";
    value.note(fmt::format("{} must be a point of {} coordinates, not {}", value.path(), right, count));
    return false;
  }
  for (std::size_t axis = 0; axis < count; ++axis) point[axis] = (*coordinates)[axis].number().value_or(0.0);
  return true;
}

namespace {

/// Names of fields in the files other than the solution and those of OutputField.
constexpr std::array<std::string_view, 5> taken_names{"exact", "error", "region", "group", "normal_flux"};

bool is_taken(std::string_view name) {
  const auto names_it = [&](OutputField field) {
    const std::string_view own = solver::name(field);
    return field != OutputField::u && (name == own || name == std::string(own) + "_magnitude");
  };
  return std::ranges::find(taken_names, name) != taken_names.end() || std::ranges::any_of(all_output_fields, names_it);
}

void read_probe(const ValueReader& probe, int dimension, OutputChoice& to) {
  std::array<double, 3> point{};
  if (read_point(probe, dimension, point)) to.probes.push_back({probe.key(), point, probe.place()});
}

OutputSubset read_subset(const MapReader& output, int dimension) {
  OutputSubset to;
  const auto value = output.find("subset");
  if (!value) return to;
  const MapReader subset(*value);
  to.place = to.regions_place = value->place();
  if (const auto regions = subset.find("regions"))
    if (const auto items = regions->items("a list of regions, such as [fins]")) {
      to.regions_place = regions->place();
      for (const ValueReader& item : *items)
        if (auto region = item.text()) to.regions.push_back(*std::move(region));
    }
  const MapReader box(subset, "box");
  const auto min = box.find("min"), max = box.find("max");
  if (subset.has("box") && !min && !max)
    if (const auto there = subset.find("box"))
      there->must_be("a box, such as {min: [0, 0, 0], max: [1, 1, 0.5]}, or one of its corners");
  const bool both = min && read_point(*min, dimension, to.min) && max;
  if (max && read_point(*max, dimension, to.max) && both)
    for (int axis = 0; axis < 3; ++axis)
      if (to.min[axis] > to.max[axis]) {
        max->note(fmt::format("{} must be nowhere below {}", max->path(), min->path()));
        break;
      }
  return to;
}

std::optional<int> read_file_degree(const MapReader& output, int degree) {
  const auto value = output.find("degree");
  const auto whole = value ? value->whole() : std::nullopt;
  if (!whole) return std::nullopt;
  if (*whole > degree) value->must_be(fmt::format("at most the solution's degree, which is {}", degree));
  return static_cast<int>(*whole);
}

/// Reports fields of different loads that would have the same name.
void check_names(const ValueReader& value, const std::vector<OutputField>& fields, const Case& from) {
  std::map<std::string, std::string> loads;  // by the names of their fields
  for (const LoadData& load : from.problem.loads)
    for (const OutputField field : fields)
      for (const bool magnitude : {false, true}) {
        if (magnitude && field == OutputField::u) continue;
        const std::string name = name_in_file(field, magnitude, from.solution, load.name);
        if (const auto [other, is_new] = loads.emplace(name, load.name); !is_new)
          return value.note(fmt::format("{}: the loads {} and {} would both have a field {}; give one another name",
                                        value.path(), in_quotes(other->second), in_quotes(load.name), in_quotes(name)));
      }
}

std::optional<std::vector<OutputField>> read_fields(const ValueReader& value, const Case& from) {
  std::vector<std::string> names;
  for (const OutputField field : all_output_fields) names.emplace_back(name(field));
  const auto items = value.items("a list of " + alternatives(names));
  if (!items) return std::nullopt;
  std::vector<OutputField> fields;
  for (const ValueReader& item : *items) {
    const auto text = item.text();
    if (!text) continue;
    const auto field = std::ranges::find_if(all_output_fields, [&](OutputField known) {
      return *text == name(known) || (known == OutputField::u && *text == from.solution.name);
    });
    if (field == all_output_fields.end())
      item.must_be(alternatives(names));
    else if (std::ranges::find(fields, *field) != fields.end())
      item.note(fmt::format("{}: {} is there already", item.path(), in_quotes(*text)));
    else
      fields.push_back(*field);
  }
  check_names(value, fields, from);
  return fields;
}

}  // namespace

std::string_view name(OutputField field) {
  constexpr std::array<std::string_view, all_output_fields.size()> names{"u", "gradient", "flux", "recovered_gradient",
                                                                         "recovered_flux"};
  return names[static_cast<int>(field)];
}

std::string name_in_file(OutputField field, bool magnitude, const SolutionLabel& solution, const std::string& load) {
  return fmt::format("{}{}{}{}", field == OutputField::u ? solution.name : name(field), magnitude ? "_magnitude" : "",
                     load.empty() ? "" : "_", load);
}

SolutionLabel read_solution_label(const MapReader& top) {
  SolutionLabel label;
  if (const auto name = top.find("name"))
    if (auto text = name->text()) {
      if (!is_name(*text))
        name->must_be("a name in UTF-8 without control characters, such as temperature");
      else if (is_taken(*text))
        name->must_be("a name that no other field of the files has, such as temperature");
      else
        label.name = *std::move(text);
    }
  if (const auto unit = top.find("unit"))
    if (auto text = unit->text()) {
      if (!text->empty() && !is_name(*text))
        unit->must_be("a unit in UTF-8 without control characters, such as degC");
      else
        label.unit = *std::move(text);
    }
  return label;
}

OutputChoice read_output_choice(const MapReader& top, const Case& from) {
  const MapReader output(top, "output");
  OutputChoice to;
  to.directory = std::filesystem::path("results") / from.name;
  if (const auto directory = output.find("directory"))
    if (const auto text = directory->text()) {
      to.directory = *text;
      if (text->empty()) directory->must_be("the name of a folder");
    }
  to.vtu = output.flag("vtu");
  to.degree = read_file_degree(output, from.degree);
  to.subset = read_subset(output, known_dimension(from.mesh));
  to.fields = output.read("fields", to.fields, [&](const ValueReader& value) { return read_fields(value, from); });
  to.boundary = output.flag("boundary");
  to.picture = output.flag("picture");
  to.system = output.flag("system");
  to.points = output.flag("points");
  if (const auto probes = output.find("probes"))
    if (const auto entries = probes->entries("name: [x, y, z]"))
      for (const ValueReader& probe : *entries) read_probe(probe, known_dimension(from.mesh), to);
  return to;
}

}  // namespace femcg::solver
