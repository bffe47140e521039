#include "mesh/gmsh/decks/bdf_cards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mesh/gmsh/check/msh_cursor.hpp"
#include "mesh/gmsh/decks/deck.hpp"

namespace femcg::mesh {

namespace {

/// A line without its comment, in upper case, with tabs expanded to multiples of eight columns.
std::string plain(std::string_view line) {
  std::string made;
  for (const char c : upper_case(line.substr(0, line.find('$'))))
    if (c == '\t')
      made.append(8 - made.size() % 8, ' ');
    else if (c != '\r')
      made += c;
  return made;
}

/// True for "BEGIN BULK" with any blanks.
bool is_begin_bulk(const std::string& line) {
  const std::string_view text = trimmed(line);
  return text.starts_with("BEGIN") && trimmed(text.substr(5)).starts_with("BULK");
}

std::string column(const std::string& line, std::size_t begin, std::size_t count) {
  return begin < line.size() ? std::string(trimmed(std::string_view(line).substr(begin, count))) : std::string();
}

}  // namespace

BdfCards::BdfCards(std::string_view text) : text_(text) {
  // Executive and case control precede BEGIN BULK; without BEGIN BULK, everything is bulk data.
  std::size_t number = 0, control = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    ++number;
    if (const std::string line = plain(text.substr(at, std::min<std::size_t>(end - at, 80))); is_begin_bulk(line)) {
      begins_bulk_ = true;
      at_ = std::min(end + 1, text.size());
      number_ = number;
      return;
    } else if (line.starts_with("CEND")) {
      control = number;
    } else if (line.starts_with("GRID") && control == 0) {
      return;  // already bulk data
    }
    at = end + 1;
  }
  if (control > 0)
    fail_at_line(control,
                 "case control follows CEND, but no BEGIN BULK says where it ends: put that line before the first "
                 "card of bulk data");
}

bool BdfCards::read_line(Line& line) {
  while (at_ < text_.size() && !ended_) {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string text = plain(text_.substr(at_, end - at_));
    at_ = std::min(end + 1, text_.size());
    ++number_;
    if (trimmed(text).empty()) continue;
    line = {};
    line.number = number_;
    const bool free = text.find(',') != std::string::npos;
    line.name = column(text, 0, free ? text.find(',') : 8);
    ended_ = line.name.starts_with("ENDDATA");
    if (ended_) return false;
    const bool large = line.name.find('*') != std::string::npos;
    const std::size_t fields = large ? 4 : 8, width = large ? 16 : 8;
    if (!free) {
      for (std::size_t f = 0; f < fields; ++f) line.fields.push_back(column(text, 8 + f * width, width));
      line.last = column(text, 72, 8);
    } else {
      std::vector<std::string> parts;
      for (std::size_t begin = text.find(',') + 1; begin <= text.size();) {
        const std::size_t comma = std::min(text.find(',', begin), text.size());
        parts.push_back(column(text, begin, comma - begin));
        begin = comma + 1;
      }
      while (!parts.empty() && parts.back().empty()) parts.pop_back();
      if (parts.size() > fields + 1)
        fail_at_line(number_, fmt::format("a line has a name, {} fields and one that names the next line, not {}",
                                          fields, parts.size() + 1));
      parts.resize(fields + 1);
      line.last = std::move(parts.back());
      parts.pop_back();
      line.fields = std::move(parts);
    }
    line.continues = line.name.empty() || line.name[0] == '+' || line.name[0] == '*';
    return true;
  }
  return false;
}

bool BdfCards::next(BdfCard& card) {
  Line line = std::move(peeked_);
  if (!std::exchange(has_peeked_, false) && !read_line(line)) return false;
  if (line.continues) fail_at_line(line.number, "this line continues a card, but there is none before it");
  card = {line.name.substr(0, line.name.find('*')), std::move(line.fields), line.number};
  const auto mark = [](const std::string& name) {
    return name.substr(std::min(name.find_first_not_of("+*"), name.size()));
  };
  while ((has_peeked_ = read_line(peeked_)) && peeked_.continues) {
    const std::string before = mark(line.last), here = mark(peeked_.name);
    if (!before.empty() && !here.empty() && before != here)
      fail_at_line(peeked_.number, fmt::format("this line continues '{}', but the line before ends in '{}': put lines "
                                               "that belong together one after the other",
                                               printable(here), printable(before)));
    card.fields.insert(card.fields.end(), peeked_.fields.begin(), peeked_.fields.end());
    line.last = std::move(peeked_.last);
  }
  return true;
}

}  // namespace femcg::mesh
