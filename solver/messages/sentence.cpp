#include "solver/messages/sentence.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace femcg::solver {

namespace {

/// Number of letters inserted, deleted, replaced or swapped with their neighbour, ignoring case.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [&](std::size_t i, std::size_t j) {
    return std::tolower(static_cast<unsigned char>(a[i])) == std::tolower(static_cast<unsigned char>(b[j]));
  };
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (same(i - 1, j - 1) ? 0 : 1)});
      if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1)) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

/// Largest edit distance of a misspelt word: about a third of its length.
std::size_t tolerated_distance(std::size_t length) { return (length + 1) / 3; }

constexpr std::size_t longest_quote = 60;

}  // namespace

std::string on_one_line(std::string_view text, std::size_t longest) {
  std::size_t length = std::min(text.size(), longest);
  // Does not cut within a UTF-8 sequence, whose continuation bytes, three at most, begin with the bits 10.
  const auto continues = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  while (length > 0 && length < text.size() && length + 3 > longest && continues(length)) --length;
  std::string shown;
  for (const char c : text.substr(0, length)) shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  return length < text.size() ? shown + "..." : shown;
}

std::string in_quotes(std::string_view text) { return "'" + on_one_line(text, longest_quote) + "'"; }

std::string at_place(const std::string& place, std::string_view sentence) {
  if (place.empty()) return std::string(sentence);
  // A place "--set mesh.file" makes the beginning of "mesh.file: there is no such file" redundant.
  if (const std::size_t colon = sentence.find(": "); colon != std::string_view::npos && colon > 0)
    if (const std::string_view what = sentence.substr(0, colon);
        place == what || place.ends_with(" " + std::string(what)))
      sentence.remove_prefix(colon + 2);
  return place + ": " + std::string(sentence);
}

std::string alternatives(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

std::string did_you_mean(std::string_view unknown, const std::vector<std::string>& known) {
  if (known.empty()) return "";
  constexpr std::size_t longest_name = 100;  // longer names are no typing errors
  if (unknown.size() <= longest_name) {
    const auto distance = [&](const std::string& name) { return edit_distance(unknown, name); };
    const auto nearest = std::ranges::min_element(known, {}, distance);
    if (distance(*nearest) <= tolerated_distance(std::max(unknown.size(), nearest->size())))
      return "; did you mean " + in_quotes(*nearest) + "?";
  }
  return "; known are " + alternatives(known);
}

std::string did_you_mean_part(std::string_view unknown, const std::vector<std::string>& known) {
  const std::string hint = did_you_mean(unknown, known);
  return (hint.ends_with("?") ? hint + " There are " + alternatives(known) : hint) + "; femcg mesh shows them";
}

}  // namespace femcg::solver
