#include "mesh/gmsh/process/gmsh_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/gmsh/check/file_bytes.hpp"
#include "mesh/gmsh/check/file_kinds.hpp"
#include "mesh/gmsh/check/geo_words.hpp"

namespace femcg::mesh {

namespace {

namespace fs = std::filesystem;

/// First nonblank line, at most 40 characters of it.
std::string first_line(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error("the file cannot be opened for reading");
  std::string text;
  stream >> std::ws;
  for (int c = stream.get(); c != EOF && c != '\n' && c != '\r' && text.size() < 40; c = stream.get())
    text += std::isprint(c) ? static_cast<char>(c) : '?';
  return text;
}

}  // namespace

void check_commands(const fs::path& file) {
  constexpr std::array<std::string_view, 4> runs{"System", "SystemCall", "NonBlockingSystemCall", "OnelabRun"};
  constexpr std::array<std::string_view, 2> writes{"Save", "Print"}, opens{"Merge", "MergeWithBoundingBox"};
  if (!ending_of(file).starts_with(".geo")) return;
  const FileBytes bytes(file);
  const std::string_view text = bytes.view();
  const std::vector<GeoWord> words = geo_words(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].kind != GeoWord::Kind::name) continue;
    const auto is_of = [&](const auto& commands) {
      return std::ranges::find(commands, words[i].text) != commands.end();
    };
    const auto refuse = [&](const std::string& what) {
      throw std::runtime_error(fmt::format("line {}: {} would {}",
                                           1 + std::count(text.begin(), text.begin() + words[i].place, '\n'),
                                           words[i].text, what));
    };
    const GeoWord next = i + 1 < words.size() ? words[i + 1] : GeoWord{};
    if (is_of(runs)) refuse("run a command of the system, which a geometry may not do here: take it out");
    if (is_of(writes) && next.text != ".")  // an option otherwise: Print.Background
      refuse("write a file, which a geometry may not do here: take it out");
    if (is_of(opens) && next.kind == GeoWord::Kind::quoted && has_options_beside(file.parent_path() / next.text))
      refuse(fmt::format("have Gmsh run {}.opt as a script, too: take that away, or rename it", next.text));
  }
}

bool is_mesh_file(const fs::path& file) {
  const std::string kind = ending_of(file);
  if (const std::string why = why_unreadable(file); !why.empty()) throw std::runtime_error(why);
  const std::string line = first_line(file);
  if (line.empty()) throw std::runtime_error("the file is empty");
  // Gmsh takes a .msh file without the usual beginning for a .geo script.
  if (kind == ".msh" && line[0] != '$')
    throw std::runtime_error(fmt::format("a .msh file begins with $MeshFormat, this one with '{}'", line));
  return has_mesh_ending(file);
}

bool states_its_unit(const fs::path& file) {
  const std::string kind = ending_of(file);
  return is_step_file(file) || kind == ".iges" || kind == ".igs";
}

bool is_step_file(const fs::path& file) { return ending_of(file) == ".step" || ending_of(file) == ".stp"; }

bool holds_cad_solids(const fs::path& file) { return states_its_unit(file) || ending_of(file) == ".brep"; }

}  // namespace femcg::mesh
