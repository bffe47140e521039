#include "mesh/gmsh/decks/whole_deck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "mesh/gmsh/check/file_kinds.hpp"
#include "mesh/gmsh/check/msh_cursor.hpp"
#include "mesh/gmsh/decks/deck.hpp"
#include "mesh/gmsh/decks/inp_lines.hpp"

namespace femcg::mesh {

namespace {

namespace fs = std::filesystem;

/// Number of bytes of the UTF-8 character at the beginning of a text; 0 if there is none.
std::size_t character_of_utf8(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t count = first < 0x80   ? 1
                            : first < 0xC2 ? 0
                            : first < 0xE0 ? 2
                            : first < 0xF0 ? 3
                            : first < 0xF5 ? 4
                                           : 0;
  if (count == 0 || count > text.size()) return 0;
  for (std::size_t i = 1; i < count; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  return count;
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t count = character_of_utf8(text.substr(i, 4));
    if (count == 0) return false;
    i += count;
  }
  return true;
}

std::string from_latin1(std::string_view text) {
  std::string made;
  made.reserve(text.size() + text.size() / 16);
  for (const char each : text) {
    const auto c = static_cast<unsigned char>(each);
    if (c < 0x80) {
      made += each;
    } else {
      made += static_cast<char>(0xC0 | (c >> 6));
      made += static_cast<char>(0x80 | (c & 0x3F));
    }
  }
  return made;
}

/// Text without a byte order mark. Throws for binary data and UTF-16.
std::string_view text_of(const FileBytes& bytes) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  const std::string_view text = bytes.view();
  if (text.substr(0, 4096).find('\0') != std::string_view::npos)
    throw std::runtime_error("the file is not text in ASCII or UTF-8, but binary or in UTF-16: save it as plain text");
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

std::size_t count_lines(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// Line number of a sentence "line 12: ..."; 0 for any other sentence.
std::size_t line_of(std::string_view sentence) {
  constexpr std::string_view word = "line ";
  std::size_t line = 0;
  if (!sentence.starts_with(word)) return 0;
  const char* const last = sentence.data() + sentence.size();
  const auto [end, error] = std::from_chars(sentence.data() + word.size(), last, line);
  return error == std::errc() && end != last && *end == ':' ? line : 0;
}

/// Sentence with the file of its line: "line 12 of 'nodes.inc': ...".
std::string in_file(const std::string& sentence, const std::string& file) {
  const std::size_t line = line_of(sentence);
  if (line == 0 || file.empty()) return sentence;
  return fmt::format("line {} of '{}'{}", line, printable(file), sentence.substr(sentence.find(':')));
}

}  // namespace

std::vector<WholeDeck::Include> WholeDeck::includes_of_inp(std::string_view text) {
  constexpr std::string_view with_data = " NODE ELEMENT NSET ELSET SURFACE ";
  std::vector<Include> found;
  InpLines lines(text);
  for (InpKeyword keyword; lines.next_keyword(keyword);) {
    const bool has_data = keyword.has("INPUT") && with_data.find(" " + keyword.name + " ") != std::string_view::npos;
    if (keyword.name != "INCLUDE" && !has_data) continue;
    Include include{keyword.begin, keyword.end, keyword.line, keyword.value("INPUT"), {}};
    if (has_data) {
      include.before = "*" + keyword.name;
      for (const auto& [parameter, value] : keyword.parameters)
        if (parameter != "INPUT")
          include.before += fmt::format(", {}{}", parameter, value.empty() ? "" : "=\"" + value + "\"");
      include.before += '\n';
    }
    found.push_back(std::move(include));
  }
  return found;
}

std::vector<WholeDeck::Include> WholeDeck::includes_of_bdf(std::string_view text) {
  constexpr std::string_view word = "INCLUDE";
  std::vector<Include> found;
  std::size_t number = 0;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    end = std::min(text.find('\n', at), text.size() - 1) + 1;
    ++number;
    const std::string_view line = trimmed(text.substr(at, end - 1 - at + (text[end - 1] != '\n' ? 1 : 0)));
    const std::string first = upper_case(line.substr(0, word.size()));
    if (first == "ENDDATA") break;
    if (first != word) continue;
    std::string_view name = trimmed(line.substr(word.size()));
    if (name.starts_with('=') || name.starts_with(',')) name = trimmed(name.substr(1));
    if (const char quote = name.empty() ? ' ' : name[0]; quote == '\'' || quote == '"') {
      const std::size_t last = name.find(quote, 1);
      if (last == std::string_view::npos)
        fail_at_line(number, "the name behind INCLUDE does not end on its line: write it on one");
      name = name.substr(1, last - 1);
    } else {
      name = trimmed(name.substr(0, name.find('$')));
    }
    if (name.empty()) fail_at_line(number, "INCLUDE needs the name of a file");
    found.push_back({at, end, number, std::string(name), {}});
  }
  return found;
}

std::vector<WholeDeck::Include> WholeDeck::includes_of(std::string_view text) const {
  if (ending_ == ".inp") return includes_of_inp(text);
  if (ending_ == ".bdf" || ending_ == ".nas") return includes_of_bdf(text);
  return {};
}

WholeDeck::WholeDeck(const fs::path& file)
    : folder_(file.parent_path()), ending_(ending_of(file)), bytes_(std::make_unique<FileBytes>(file)) {
  text_ = text_of(*bytes_);
  const bool utf8 = is_utf8(text_);
  if (utf8 && includes_of(text_).empty()) return;
  open_ = {fs::weakly_canonical(file)};
  append(utf8 ? text_ : from_latin1(text_), "", folder_);
  text_ = made_;
}

void WholeDeck::append_piece(std::string_view text, std::size_t of_file, const std::string& file) {
  pieces_.push_back({lines_ + 1, of_file, file});
  made_ += text;
  lines_ += count_lines(text);
}

void WholeDeck::append(std::string_view text, const std::string& file, const fs::path& folder) {
  std::vector<Include> includes;
  try {
    includes = includes_of(text);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(in_file(error.what(), file));
  }
  std::size_t at = 0, line = 1;
  for (const Include& include : includes) {
    append_piece(text.substr(at, include.begin - at), line, file);
    line += count_lines(text.substr(at, include.end - at));
    at = include.end;
    append_piece(include.before, include.line, file);
    append_file(include, file, folder);
  }
  append_piece(text.substr(at), line, file);
  if (!made_.empty() && made_.back() != '\n') append_piece("\n", line, file);
}

void WholeDeck::append_file(const Include& include, const std::string& from, const fs::path& folder) {
  constexpr std::size_t most_files = 1000;
  const auto refuse = [&](const std::string& why) {
    throw std::runtime_error(in_file(
        fmt::format("line {}: the file '{}' that is included here {}", include.line, printable(include.file), why),
        from));
  };
  std::string name = include.file;
  std::error_code error;
  const auto found = [&] { return fs::exists(folder_ / name, error) ? folder_ / name : folder / name; };
  if (!fs::exists(found(), error)) std::ranges::replace(name, '\\', '/');  // Windows path
  const fs::path path = found();
  if (!fs::exists(path, error)) refuse("is not there: its name is taken relative to the folder of the deck");
  if (!fs::is_regular_file(path, error)) refuse("is none");
  const fs::path real = fs::weakly_canonical(path);
  if (std::ranges::find(open_, real) != open_.end()) refuse("includes itself");
  if (++included_ > most_files) refuse(fmt::format("is one of more than {}", most_files));
  open_.push_back(real);
  try {
    const FileBytes bytes(real);
    const std::string_view text = text_of(bytes);
    append(is_utf8(text) ? text : from_latin1(text), include.file, path.parent_path());
  } catch (const std::runtime_error& failure) {
    constexpr std::string_view of_file = "the file ";
    const std::string what = failure.what();
    if (what.starts_with(of_file)) refuse(what.substr(of_file.size()));
    throw;
  }
  open_.pop_back();
}

std::string WholeDeck::in_words_of_files(const std::string& sentence) const {
  const std::size_t line = line_of(sentence);
  const auto after = std::ranges::upper_bound(pieces_, line, {}, &Piece::line);
  if (line == 0 || after == pieces_.begin()) return sentence;
  const Piece& piece = *(after - 1);
  return in_file(fmt::format("line {}{}", piece.of_file + line - piece.line, sentence.substr(sentence.find(':'))),
                 piece.file);
}

}  // namespace femcg::mesh
