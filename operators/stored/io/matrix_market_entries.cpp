#include "operators/stored/io/matrix_market_entries.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <exception>

namespace femcg::operators {

namespace {

bool is_blank(char c) { return c == ' ' || ('\t' <= c && c <= '\r'); }
bool is_no_blank(char c) { return !is_blank(c); }

std::string_view without_leading_blanks(std::string_view text) {
  text.remove_prefix(std::find_if(text.begin(), text.end(), is_no_blank) - text.begin());
  return text;
}

/// Calls body(line) for every line of a text (the last line may lack its end).
template <class Body>
void for_lines(std::string_view text, const Body& body) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    body(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

/// Lines of a block that one thread parses.
struct Piece {
  std::string_view text;
  std::int64_t lines = 0;
  std::int64_t entries = 0;
  std::vector<std::int64_t> without_entry;  ///< line numbers within the piece
  std::exception_ptr failure;
};

/// Cuts a block at line ends into about `count` pieces of equal size.
std::vector<Piece> cut(std::string_view block, std::int64_t count) {
  std::vector<Piece> pieces;
  const std::size_t target = block.size() / static_cast<std::size_t>(count) + 1;
  while (!block.empty()) {
    const std::size_t end = target < block.size() ? block.find('\n', target) : std::string_view::npos;
    const std::size_t size = end == std::string_view::npos ? block.size() : end + 1;
    pieces.push_back({block.substr(0, size), 0, 0, {}, nullptr});
    block.remove_prefix(size);
  }
  return pieces;
}

void count_lines(Piece& piece) {
  for_lines(piece.text, [&](std::string_view line) {
    if (holds_data(line))
      ++piece.entries;
    else
      piece.without_entry.push_back(piece.lines);
    ++piece.lines;
  });
}

[[noreturn]] void refuse_number(std::int64_t line, std::string_view word) {
  throw MatrixMarketError(line, fmt::format("{} is not a number", in_quotes(word)));
}

/// Removes a plus sign, as written by C and Fortran, which from_chars does not read.
std::string_view without_plus(std::string_view word) {
  if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);
  return word;
}

double real_number(std::int64_t line, std::string_view word) {
  if (const std::size_t exponent = word.find_first_of("dD"); exponent != std::string_view::npos && exponent > 0) {
    std::string with_e(word);  // Fortran's exponent of double precision
    with_e[exponent] = 'e';
    if (with_e.find_first_not_of("0123456789+-.e") == std::string::npos) return real_number(line, with_e);
  }
  const std::string_view digits = without_plus(word);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size()) refuse_number(line, word);
  if (error == std::errc::result_out_of_range) {
    // strtod tells numbers that are too large from those that are too small, which are rounded as any number is.
    value = std::strtod(std::string(digits).c_str(), nullptr);
    if (std::abs(value) >= 1)
      throw MatrixMarketError(line, fmt::format("{} is too large for double precision (1.8e308)", in_quotes(word)));
  }
  if (!std::isfinite(value)) throw MatrixMarketError(line, fmt::format("{} is not a finite number", in_quotes(word)));
  return value;
}

double integer_number(std::int64_t line, std::string_view word) {
  const std::string_view digits = without_plus(word);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end != digits.data() + digits.size() || error == std::errc::invalid_argument)
    throw MatrixMarketError(
        line, fmt::format("{} is not an integer, as the header promises; change it to 'real'", in_quotes(word)));
  if (error == std::errc::result_out_of_range)
    throw MatrixMarketError(line, fmt::format("{} is too large for an integer of 64 bits", in_quotes(word)));
  return static_cast<double>(value);
}

/// Parses the lines of one piece.
class PieceParser {
 public:
  /// `first_entry` is the position of the piece's first entry within the file.
  PieceParser(const EntryFormat& format, std::int64_t first_line, std::int64_t first_entry)
      : format_(format), line_(first_line - 1), entry_(first_entry) {
    if (format.array) move_to(first_entry);
  }

  void parse(std::string_view text, Entry* to) {
    for_lines(text, [&](std::string_view line) {
      ++line_;
      if (!holds_data(line)) return;
      unfinished_ = line.end() == text.end();
      if (entry_++ == format_.entries)
        throw MatrixMarketError(line_, fmt::format("the size line promises {} entries, and this is one more: {}",
                                                   format_.entries, in_quotes(line)));
      *to++ = format_.array ? array_entry(line) : coordinate_entry(line);
    });
  }

 private:
  Entry coordinate_entry(std::string_view line) const {
    Words words(line);
    const std::string_view row = words.next(), column = words.next();
    const bool has_value = format_.field != MatrixField::pattern;
    const std::string_view value = has_value ? words.next() : std::string_view{};
    if (column.empty() || (has_value && value.empty()) || !words.next().empty()) refuse_count(line);
    const Entry entry{index(row, "row"), index(column, "column"), has_value ? number(value) : 1.0};
    check_triangle(entry);
    return entry;
  }

  Entry array_entry(std::string_view line) {
    Words words(line);
    const std::string_view value = words.next();
    if (!words.next().empty()) refuse_count(line);
    const Entry entry{row_, column_, number(value)};
    if (++row_ == format_.rows) {
      ++column_;
      row_ = first_row(column_);
    }
    return entry;
  }

  double number(std::string_view word) const {
    return format_.field == MatrixField::integer ? integer_number(line_, word) : real_number(line_, word);
  }

  std::int32_t index(std::string_view word, const char* what) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (end != word.data() + word.size() || error == std::errc::invalid_argument)
      throw MatrixMarketError(
          line_, fmt::format("{} is not a {}, a whole number from 1 to {}", in_quotes(word), what, format_.rows));
    if (error != std::errc() || value < 1 || value > format_.rows)
      throw MatrixMarketError(line_, fmt::format("{} {} is outside of 1 to {}", what, word, format_.rows));
    return static_cast<std::int32_t>(value - 1);
  }

  void check_triangle(const Entry& entry) const {
    if (format_.symmetry == MatrixSymmetry::general || entry.row > entry.column) return;
    if (entry.row < entry.column)
      throw MatrixMarketError(line_, fmt::format("entry ({}, {}) is above the diagonal; a {} file holds those below, "
                                                 "which imply it",
                                                 entry.row + 1, entry.column + 1, name(format_.symmetry)));
    if (format_.symmetry == MatrixSymmetry::skew_symmetric && entry.value != 0)
      throw MatrixMarketError(line_, fmt::format("entry ({}, {}) is on the diagonal, which is 0 in a skew-symmetric "
                                                 "matrix, but here {}",
                                                 entry.row + 1, entry.column + 1, entry.value));
  }

  [[noreturn]] void refuse_count(std::string_view line) const {
    const char* what = format_.array                           ? "one value"
                       : format_.field == MatrixField::pattern ? "row and column"
                                                               : "row, column and value";
    const char* hint = unfinished_ ? ", with which the file ends: it may be cut short" : "";
    throw MatrixMarketError(line_, fmt::format("a line of this file holds {}, not {}{}", what, in_quotes(line), hint));
  }

  /// First row of a column stored in an `array`.
  std::int32_t first_row(std::int32_t column) const {
    if (format_.symmetry == MatrixSymmetry::general) return 0;
    return format_.symmetry == MatrixSymmetry::symmetric ? column : column + 1;
  }

  void move_to(std::int64_t entry) {
    column_ = 0;
    while (column_ < format_.rows && entry >= format_.rows - first_row(column_)) {
      entry -= format_.rows - first_row(column_);
      ++column_;
    }
    row_ = static_cast<std::int32_t>(first_row(column_) + entry);
  }

  const EntryFormat& format_;
  std::int64_t line_;
  std::int64_t entry_;
  bool unfinished_ = false;            ///< the current line has no end; only the last of a file can
  std::int32_t row_ = 0, column_ = 0;  ///< of the next value of an `array`
};

}  // namespace

std::string_view Words::next() {
  rest_ = without_leading_blanks(rest_);
  const std::string_view word(rest_.begin(), std::find_if(rest_.begin(), rest_.end(), is_blank));
  rest_.remove_prefix(word.size());
  return word;
}

bool holds_data(std::string_view line) {
  const std::string_view text = without_leading_blanks(line);
  return !text.empty() && text[0] != '%';
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 40;
  text = without_leading_blanks(text);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  std::string shown(text.substr(0, longest));
  for (char& c : shown)
    if (c < ' ' || c > '~') c = '?';
  return fmt::format("'{}{}'", shown, text.size() > longest ? "..." : "");
}

std::int64_t EntryParser::parse(std::string_view block, std::int64_t first_line) {
  // More pieces than threads, since lines differ in cost; a small block is not worth waking threads.
  const std::int64_t most = static_cast<std::int64_t>(block.size()) / (64 << 10) + 1;
  std::vector<Piece> pieces = cut(block, std::min<std::int64_t>(most, 4 * omp_get_max_threads()));
  const auto size = static_cast<std::int64_t>(pieces.size());
#pragma omp parallel for schedule(dynamic) if (size > 1)
  for (std::int64_t p = 0; p < size; ++p) count_lines(pieces[p]);

  if (blocks_.empty()) first_line_ = first_line;
  std::int64_t lines = 0, entries = 0;
  std::vector<std::int64_t> first_lines, first_entries;
  for (const Piece& piece : pieces) {
    first_lines.push_back(first_line + lines);
    first_entries.push_back(entries);
    for (const std::int64_t line : piece.without_entry) without_entry_.push_back(first_line + lines + line);
    lines += piece.lines;
    entries += piece.entries;
  }
  Vector<Entry> parsed(entries);
#pragma omp parallel for schedule(dynamic) if (size > 1)
  for (std::int64_t p = 0; p < size; ++p) {
    try {
      PieceParser(format_, first_lines[p], count_ + first_entries[p])
          .parse(pieces[p].text, parsed.data() + first_entries[p]);
    } catch (...) {
      pieces[p].failure = std::current_exception();
    }
  }
  for (const Piece& piece : pieces)
    if (piece.failure) std::rethrow_exception(piece.failure);
  count_ += entries;
  blocks_.push_back(std::move(parsed));
  return lines;
}

std::int64_t EntryParser::line_of(std::int64_t entry) const {
  std::int64_t line = first_line_ + entry;
  for (const std::int64_t other : without_entry_) {
    if (other > line) break;
    ++line;
  }
  return line;
}

}  // namespace femcg::operators
