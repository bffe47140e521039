#include "mesh/gmsh/decks/inp_lines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mesh/gmsh/check/msh_cursor.hpp"
#include "mesh/gmsh/decks/deck.hpp"

namespace femcg::mesh {

namespace {

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    std::size_t comma = std::min(line.find(',', begin), line.size());
    if (const std::size_t quote = line.find('"', begin); quote < comma)
      comma = std::min(line.find(',', std::min(line.find('"', quote + 1), line.size())), line.size());
    fields.push_back(trimmed(line.substr(begin, comma - begin)));
    begin = comma + 1;
  }
  if (fields.back().empty()) fields.pop_back();
  return fields;
}

std::string_view without_quotes(std::string_view text) {
  return text.size() >= 2 && text.front() == '"' && text.back() == '"' ? text.substr(1, text.size() - 2) : text;
}

void add_parameters(const std::vector<std::string_view>& fields, std::size_t first, InpKeyword& keyword) {
  for (std::size_t f = first; f < fields.size(); ++f) {
    const std::size_t equals = fields[f].find('=');
    const std::string name = upper_case(trimmed(fields[f].substr(0, equals)));
    keyword.parameters[name] =
        equals == std::string_view::npos ? "" : std::string(without_quotes(trimmed(fields[f].substr(equals + 1))));
  }
}

}  // namespace

const std::string& InpKeyword::value(const std::string& parameter) const {
  const auto found = parameters.find(parameter);
  if (found == parameters.end() || found->second.empty())
    fail_at_line(line, fmt::format("*{} needs its {}", printable(name), parameter));
  return found->second;
}

bool InpLines::peek(std::string_view& line) {
  while (at_ < text_.size()) {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    line = trimmed(text_.substr(at_, end - at_));
    after_peeked_ = std::min(end + 1, text_.size());
    if (counted_to_ != after_peeked_) {
      ++lines_before_;
      counted_to_ = after_peeked_;
    }
    if (!line.empty() && !line.starts_with("**")) {
      line_ = lines_before_;
      return true;
    }
    at_ = after_peeked_;
  }
  return false;
}

bool InpLines::next_keyword(InpKeyword& keyword) {
  std::string_view line;
  while (peek(line) && line[0] != '*') pass();
  if (at_ >= text_.size()) return false;
  keyword = {};
  keyword.begin = at_;
  pass();
  keyword.line = line_;
  bool continued = line.ends_with(',');
  const std::vector<std::string_view> fields = split(line.substr(1));
  if (!fields.empty())
    for (const char c : upper_case(fields[0]))
      if (c != ' ' && c != '\t') keyword.name += c;
  add_parameters(fields, 1, keyword);
  while (continued && peek(line) && line[0] != '*') {
    pass();
    add_parameters(split(line), 0, keyword);
    continued = line.ends_with(',');
  }
  keyword.end = at_;
  return true;
}

bool InpLines::next_data(std::vector<std::string_view>& fields) {
  std::string_view line;
  if (!peek(line) || line[0] == '*') return false;
  pass();
  fields = split(line);
  std::ranges::transform(fields, fields.begin(), without_quotes);
  return true;
}

}  // namespace femcg::mesh
