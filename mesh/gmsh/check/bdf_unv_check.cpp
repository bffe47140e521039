#include "mesh/gmsh/check/bdf_unv_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace femcg::mesh {

namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

/// Calls see(line, number) for each line, from 1, until it answers false.
template <class See>
void for_each_line(std::string_view text, See&& see) {
  for (std::size_t begin = 0, number = 1; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (!see(text.substr(begin, end - begin), number)) return;
    begin = end + 1;
  }
}

/// Whether the tenth field says something: behind eight fields of eight columns, or behind nine commas.
bool has_tenth_field(std::string_view line) {
  if (std::ranges::count(line, ',') == 0) return line.size() > 72 && !trimmed(line.substr(72)).empty();
  std::size_t at = 0;
  for (int comma = 0; comma < 9; ++comma) {
    at = line.find(',', at);
    if (at == std::string_view::npos) return false;
    ++at;
  }
  return !trimmed(line.substr(at)).empty();
}

bool is_element(std::string_view line) {
  constexpr std::string_view kinds[]{"CTRIA", "CQUAD", "CTETRA", "CHEXA", "CPENTA", "CPYRAM"};
  return std::ranges::any_of(kinds, [&](std::string_view kind) { return line.starts_with(kind); });
}

/// Whether a line goes on with the one before: its first field is empty or a name for that.
bool continues(std::string_view line) {
  return !trimmed(line).empty() && (line[0] == ' ' || line[0] == '+' || line[0] == ',' || line[0] == '*');
}

}  // namespace

void check_bdf(std::string_view text) {
  bool ended = false, open = false;
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    if (line.starts_with('$')) return true;
    if (open && continues(line))
      throw std::runtime_error(
          fmt::format("line {}: Gmsh passes over this line, which goes on with an element, because the line before has "
                      "no tenth field (+A1): write one, or save the mesh as .inp, .unv or .msh",
                      number));
    const std::string_view word = trimmed(line);
    ended = word == "ENDDATA" || word == "enddata";
    open = is_element(line) && !has_tenth_field(line);
    return !ended;
  });
  if (!ended) throw std::runtime_error("the file is cut short: it has no ENDDATA");
}

void check_unv(std::string_view text) {
  bool inside = false;
  for_each_line(text, [&](std::string_view line, std::size_t) {
    inside ^= trimmed(line) == "-1";
    return true;
  });
  if (inside) throw std::runtime_error("the file is cut short: its last dataset has no end (-1)");
}

}  // namespace femcg::mesh
