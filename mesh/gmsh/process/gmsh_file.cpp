#include "mesh/gmsh/process/gmsh_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "mesh/gmsh/check/file_bytes.hpp"
#include "mesh/gmsh/check/file_kinds.hpp"

namespace femcg::mesh {

namespace {

namespace fs = std::filesystem;

/// The first line that is not blank, at most 40 characters of it.
std::string first_line(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error("the file cannot be opened for reading");
  std::string text;
  stream >> std::ws;
  for (int c = stream.get(); c != EOF && c != '\n' && c != '\r' && text.size() < 40; c = stream.get())
    text += std::isprint(c) ? static_cast<char>(c) : '?';
  return text;
}

/// The end of the comment or quoted text that begins at `at`; `at` itself where none does.
std::size_t end_of_passage(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  const auto after = [&](std::string_view mark, std::size_t from) {
    const std::size_t end = text.find(mark, from);
    return end == std::string_view::npos ? text.size() : end + mark.size();
  };
  if (rest.starts_with("//")) return after("\n", at);
  if (rest.starts_with("/*")) return after("*/", at + 2);
  if (rest[0] == '"' || rest[0] == '\'') return after(rest.substr(0, 1), at + 1);
  return at;
}

std::string_view quoted(std::string_view text) { return text.substr(1, text.size() > 1 ? text.size() - 2 : 0); }

bool is_in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

void check_commands(const fs::path& file) {
  constexpr std::array<std::string_view, 4> runs{"System", "SystemCall", "NonBlockingSystemCall", "OnelabRun"};
  constexpr std::array<std::string_view, 2> writes{"Save", "Print"}, opens{"Merge", "MergeWithBoundingBox"};
  if (!ending_of(file).starts_with(".geo")) return;
  const FileBytes bytes(file);
  const std::string_view text = bytes.view();
  std::string_view opening;  // the command before what is quoted, where it opens a file
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t passage = end_of_passage(text, at);
    std::size_t end = passage;
    while (passage == at && end < text.size() && is_in_word(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    const auto is_of = [&](const auto& commands) { return std::ranges::find(commands, word) != commands.end(); };
    const auto refuse = [&](std::string_view command, const std::string& what) {
      throw std::runtime_error(
          fmt::format("line {}: {} would {}", 1 + std::count(text.begin(), text.begin() + at, '\n'), command, what));
    };
    if (is_of(runs)) refuse(word, "run a command of the system, which a geometry may not do here: take it out");
    const bool is_option = end < text.size() && text[end] == '.';  // Print.Background
    if (is_of(writes) && !is_option) refuse(word, "write a file, which a geometry may not do here: take it out");
    if (passage > at && text[at] != '/' && !opening.empty() && has_options_beside(file.parent_path() / quoted(word)))
      refuse(opening, fmt::format("have Gmsh run {}.opt as a script, too: take that away, or rename it", quoted(word)));
    if (!word.empty() && text[at] != '/') opening = is_of(opens) ? word : std::string_view();
    at = std::max(end, at + 1);
  }
}

bool is_mesh_file(const fs::path& file) {
  const std::string kind = ending_of(file);
  if (!has_known_ending(file))
    throw std::runtime_error(fmt::format("a mesh comes from {}, not from '{}'", known_endings, kind));
  std::error_code ignored;
  if (!fs::exists(file, ignored)) throw std::runtime_error("there is no such file");
  if (!fs::is_regular_file(file, ignored)) throw std::runtime_error("this is not a file");
  const std::string line = first_line(file);
  if (line.empty()) throw std::runtime_error("the file is empty");
  // Gmsh takes a .msh file that does not begin like one for a .geo script.
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
