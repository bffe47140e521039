#include "solver/case/case_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "solver/messages/sentence.hpp"

namespace femcg::solver {

namespace {

/// Fields of the files that are not the solution.
constexpr std::array taken_names{"exact", "error", "region", "group"};

/// The box's dimension; 0 for a file, which tells later.
int known_dimension(const MeshChoice& mesh) {
  const auto* box = std::get_if<mesh::BoxOptions>(&mesh.source);
  return box ? mesh::dimension(box->shape) : 0;
}

void read_probe(const ValueReader& probe, int dimension, OutputChoice& to) {
  const auto coordinates = probe.items("a point, such as [0.5, 0.5]");
  if (!coordinates) return;
  const std::size_t count = coordinates->size();
  std::array<double, 3> point{};
  if (count < 2 || count > 3 || (dimension != 0 && count != static_cast<std::size_t>(dimension))) {
    const std::string right = dimension != 0 ? fmt::format("{}", dimension) : "2 or 3";
    probe.note(fmt::format("{} must be a point of {} coordinates, not {}", probe.path(), right, count));
    return;
  }
  for (std::size_t axis = 0; axis < count; ++axis) point[axis] = (*coordinates)[axis].number(any_number).value_or(0.0);
  to.probes.push_back({probe.key(), point, probe.place()});
}

}  // namespace

SolutionLabel read_solution_label(const MapReader& top) {
  SolutionLabel label;
  if (const auto name = top.find("name"))
    if (auto text = name->text()) {
      if (!is_name(*text))
        name->must_be("a name in UTF-8 without control characters, such as temperature");
      else if (std::ranges::find(taken_names, *text) != taken_names.end())
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
  const MapReader output(top, "output", {"directory", "vtu", "probes"});
  OutputChoice to;
  to.directory = std::filesystem::path("results") / from.name;
  if (const auto directory = output.find("directory"))
    if (const auto text = directory->text()) {
      to.directory = *text;
      if (text->empty()) directory->must_be("the name of a folder");
    }
  to.vtu = output.flag("vtu", true);
  if (const auto probes = output.find("probes"))
    if (const auto entries = probes->entries("name: [x, y, z]"))
      for (const ValueReader& probe : *entries) read_probe(probe, known_dimension(from.mesh), to);
  return to;
}

}  // namespace femcg::solver
