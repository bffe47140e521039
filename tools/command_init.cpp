#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/base/atomic_file.hpp"
#include "mesh/gmsh/check/file_kinds.hpp"
#include "mesh/gmsh/gmsh_reader.hpp"
#include "solver/case/case_keys.hpp"
#include "solver/case/case_reader.hpp"
#include "solver/case/case_schema.hpp"
#include "solver/case/case_tree.hpp"
#include "solver/inspection/drafted_groups.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/progress.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/messages/terminal.hpp"
#include "tools/commands.hpp"

namespace femcg::tools {

namespace {

namespace fs = std::filesystem;

using solver::InputError;

constexpr std::string_view schema_file = "case.schema.json";

/// A line of the case, and the key whose meaning follows as a comment; empty for a line without.
struct Line {
  std::string text;
  std::string_view key = {};
};

/// Meaning of a key from the table of keys, as a comment.
std::string comment_on(std::string_view path) {
  const auto keys = solver::all_case_keys();
  const auto found = std::ranges::find(keys, path, &solver::KeyPath::path);
  if (found == keys.end()) throw std::logic_error(fmt::format("femcg init knows no key {}", path));
  std::string text(found->key->meaning);
  if (!found->key->unit.empty()) text += fmt::format(" ({})", found->key->unit);
  text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

std::string text_of(const std::vector<Line>& lines) {
  constexpr std::size_t column = 38;
  std::string text;
  for (const Line& line : lines)
    text += line.key.empty() ? line.text + "\n" : fmt::format("{:<{}} # {}\n", line.text, column, comment_on(line.key));
  return text;
}

/// Text as a YAML value.
std::string in_yaml(const std::string& text) {
  solver::CaseNode node;
  node.kind = solver::CaseNode::Kind::scalar;
  node.text = text;
  return solver::flow_text(node);
}

std::vector<Line> box_lines() {
  return {{"mesh:", "mesh"}, {"  box: {cells: [32, 32]}", "mesh.box"}, {"  # refine: 1", "mesh.refine"}};
}

/// Explanation of how the solids and faces of a file get names.
std::vector<Line> group_lines(const fs::path& file) {
  if (mesh::has_mesh_ending(file) || mesh::ending_of(file) == ".geo")
    return {
        {"  # The names of the physical groups in the file are those of regions and boundaries. One that is not there"},
        {"  # has femcg check list those that are. Entities without one, by tags or by a condition:"}};
  return {
      {"  # Names for solids (dimension 3) and surfaces (2), by a condition that holds at all their nodes or by their "
       "tags."},
      {fmt::format("  # What there is, by tag, and a draft of groups: femcg mesh {}", file.string())}};
}

/// Groups that the geometry suggests; empty if it suggests none, or cannot be meshed here.
std::vector<solver::DraftedGroup> groups_of(const fs::path& file) {
  if (file.empty() || !solver::suggests_groups(file)) return {};
  try {
    solver::Progress progress(true);
    progress.step("meshing");
    mesh::GmshOptions options;
    options.file = file;
    const mesh::EntityMesh by_entity = mesh::read_gmsh_entities(options);
    return solver::drafted_groups(by_entity, solver::inspect(by_entity));
  } catch (const std::runtime_error& error) {
    solver::print_note(fmt::format("no groups are drafted: {}", error.what()));
    return {};
  }
}

std::vector<Line> lines_of(const std::vector<solver::DraftedGroup>& groups) {
  std::vector<Line> lines{{"  groups:", "mesh.groups"}};
  for (const solver::DraftedGroup& group : groups) lines.push_back({"    " + solver::line_of(group)});
  return lines;
}

std::vector<Line> file_lines(const fs::path& file, const std::vector<solver::DraftedGroup>& drafted) {
  std::vector<Line> lines{{"mesh:", "mesh"}, {"  file: " + in_yaml(file.string()), "mesh.file"}};
  if (!mesh::has_mesh_ending(file)) {
    lines.push_back({"  # size: 0.005", "mesh.size"});
    lines.push_back({"  order: 2", "mesh.order"});
  }
  lines.push_back({"  # refine: 1", "mesh.refine"});
  const std::vector<Line> groups = group_lines(file);
  lines.insert(lines.end(), groups.begin(), groups.end());
  if (!drafted.empty()) {
    const std::vector<Line> of_geometry = lines_of(drafted);
    lines.insert(lines.end(), of_geometry.begin(), of_geometry.end());
    return lines;
  }
  lines.push_back({"  # groups:", "mesh.groups"});
  lines.push_back({"  #   bottom: {dimension: 2, where: \"abs(z) < 1e-6\"}", "mesh.groups..where"});
  lines.push_back({"  #   bore: {dimension: 2, tags: [3, 4]}", "mesh.groups..tags"});
  return lines;
}

std::string case_text(const fs::path& case_file, const fs::path& mesh_file) {
  const std::string name = case_file.filename().string();
  std::vector<Line> lines{
      {fmt::format("# yaml-language-server: $schema={}", schema_file)},
      {"# -div(diffusion grad u) = source. Keys behind '#' are examples of more."},
      {"#"},
      {fmt::format("#   femcg check {}", in_yaml(name))},
      {fmt::format("#   femcg run {}", in_yaml(name))},
      {"#"},
      {mesh_file.empty() ? "# Any units that fit together, such as m, W and degrees Celsius: nothing is converted."
                         : "# Lengths of the file become metres (mesh.unit). Other units fit together with them, such "
                           "as W and degrees Celsius."},
      {"title: " + in_yaml(case_file.stem().string()), "title"},
      {"# name: temperature", "name"},
      {"# unit: degC", "unit"},
  };
  const std::vector<solver::DraftedGroup> drafted = groups_of(mesh_file);
  const std::vector<Line> mesh = mesh_file.empty() ? box_lines() : file_lines(mesh_file, drafted);
  lines.insert(lines.end(), mesh.begin(), mesh.end());
  std::vector<std::string> sides;
  for (const solver::DraftedGroup& group : drafted)
    if (group.dimension == 2) sides.push_back(group.name);
  if (sides.size() < 2)
    sides = mesh_file.empty() ? std::vector<std::string>{"left", "right"} : std::vector<std::string>{"bottom", "bore"};
  const std::vector<Line> rest{
      {"degree: 2", "degree"},
      {"equation:", "equation"},
      {"  diffusion: 1", "equation.diffusion"},
      {"  source: 1", "equation.source"},
      {"boundary:", "boundary"},
      {"  all: {value: 0}", "boundary..value"},
      {fmt::format("  # {}: {{flux: 5}}", sides[0]), "boundary..flux"},
      {fmt::format("  # {}: {{transfer: 10, ambient: 20}}", sides[1]), "boundary..transfer"},
      {"solver:", "solver"},
      {"  operator: auto", "solver.operator"},
      {"  preconditioner: auto", "solver.preconditioner"},
      {"  tolerance: 1.0e-8", "solver.tolerance"},
      {"  # device: cpu", "solver.device"},
      {"output:", "output"},
      {"  vtu: true", "output.vtu"},
      {"  # fields: [u, flux]", "output.fields"},
      {mesh_file.empty() ? "  # probes: {centre: [0.5, 0.5]}" : "  # probes: {tip: [0, 0, 0]}", "output.probes"},
  };
  lines.insert(lines.end(), rest.begin(), rest.end());
  return text_of(lines);
}

/// Path of the file to write for the user's argument: a case, or a geometry, whose case is put into the current folder.
fs::path case_file_for(const fs::path& named, bool of_mesh) {
  if (named.empty()) return "case.yaml";
  if (of_mesh) return named.stem().concat(".yaml");
  if (named.extension() == ".yaml" || named.extension() == ".yml") return named;
  if (std::error_code error; fs::exists(named, error))
    throw InputError(
        fmt::format("{} is there, and neither a mesh nor a geometry; give a name for the case, or a file "
                    "that mesh.file may name (.step, .geo, .msh, ...)",
                    solver::in_quotes(named.string())));
  return fs::path(named).concat(".yaml");
}

}  // namespace

std::string init(const std::string& argument) {
  const fs::path named(argument);
  const bool of_mesh = mesh::has_known_ending(named);
  std::error_code error;
  if (!argument.empty() && !solver::is_name(argument))
    throw InputError(solver::in_quotes(argument) + " is no name for a case; take one without control characters");
  if (const std::string why = of_mesh ? mesh::why_unreadable(named) : ""; !why.empty())
    throw InputError(argument + ": " + why);
  const fs::path file = case_file_for(named, of_mesh);
  const fs::path folder = file.parent_path().empty() ? "." : file.parent_path();
  if (file.stem().empty() || !fs::is_directory(folder, error))
    throw InputError("there is no such folder: " + solver::in_quotes(folder.string()));
  if (fs::exists(fs::symlink_status(file, error)))
    throw InputError(solver::in_quotes(file.string()) +
                     " is there already and stays as it is; give another name: femcg init NAME");
  // Editors look for the schema next to the case. An existing schema may be for cases with other operators and is not
  // replaced.
  const fs::path schema = folder / schema_file;
  if (!fs::exists(fs::symlink_status(schema, error))) mesh::write_atomically(schema, solver::case_schema());
  mesh::write_atomically(file, case_text(file, of_mesh ? named : fs::path()));
  return fmt::format("{} is a case to change, {} what editors complete it with; next: femcg check {}\n", file.string(),
                     schema.lexically_normal().string(), file.string());
}

}  // namespace femcg::tools
