#include "mesh/gmsh_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace femcg::mesh {

namespace {

namespace fs = std::filesystem;

std::string extension(const fs::path& file) {
  std::string text = file.extension().string();
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

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

/// The first word of a line that is not a number; empty if all are.
std::string first_non_number(const std::string& line) {
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    double value = 0;
    const char* begin = word.data() + (word.starts_with('+') ? 1 : 0);
    const auto [end, error] = std::from_chars(begin, word.data() + word.size(), value);
    if (error == std::errc::invalid_argument || end != word.data() + word.size()) return word;
  }
  return {};
}

}  // namespace

bool is_mesh_file(const fs::path& file) {
  constexpr std::array accepted{".msh", ".geo", ".geo_unrolled", ".step", ".stp", ".brep", ".iges", ".igs"};
  const std::string kind = extension(file);
  if (std::find(accepted.begin(), accepted.end(), kind) == accepted.end())
    throw std::runtime_error(fmt::format(
        "a mesh is read from .msh and made from .geo, .geo_unrolled, .step, .stp, .brep, .iges or .igs, not from '{}'",
        kind));
  std::error_code ignored;
  if (!fs::exists(file, ignored)) throw std::runtime_error("there is no such file");
  if (!fs::is_regular_file(file, ignored)) throw std::runtime_error("this is not a file");
  const std::string line = first_line(file);
  if (line.empty()) throw std::runtime_error("the file is empty");
  // Gmsh takes a .msh file that does not begin like one for a .geo script.
  if (kind == ".msh" && line[0] != '$')
    throw std::runtime_error(fmt::format("a .msh file begins with $MeshFormat, this one with '{}'", line));
  return kind == ".msh";
}

bool states_its_unit(const fs::path& file) {
  const std::string kind = extension(file);
  return kind == ".step" || kind == ".stp" || kind == ".iges" || kind == ".igs";
}

bool holds_cad_solids(const fs::path& file) { return states_its_unit(file) || extension(file) == ".brep"; }

std::size_t declared_nodes(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string line;
  std::getline(stream, line);
  if (!line.starts_with("$MeshFormat") || !std::getline(stream, line) || !line.starts_with("2")) return 0;
  while (std::getline(stream, line)) {
    if (!line.starts_with("$Nodes")) continue;
    std::size_t count = 0;
    std::getline(stream, line);
    std::from_chars(line.data(), line.data() + line.size(), count);
    return count;
  }
  return 0;
}

std::string defect_of_mesh_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string line, section;
  bool binary = false;
  for (std::size_t number = 1; std::getline(stream, line); ++number) {
    if (line.starts_with("$End")) {
      section.clear();
    } else if (line.starts_with('$')) {
      section = line.substr(0, line.find_last_not_of(" \r") + 1);
    } else if (section == "$MeshFormat" && number == 2) {
      double version = 0;
      std::istringstream(line) >> version >> binary;
    } else if (!binary && (section == "$Nodes" || section == "$Elements")) {
      const std::string word = first_non_number(line);
      if (!word.empty()) return fmt::format("line {}: '{}' is not a number", number, word);
    }
  }
  return section.empty() ? "" : fmt::format("it ends within {}: the file is cut short", section);
}

}  // namespace femcg::mesh
