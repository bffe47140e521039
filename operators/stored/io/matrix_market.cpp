#include "operators/stored/io/matrix_market.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

#include "operators/stored/io/line_reader.hpp"
#include "operators/stored/io/matrix_market_entries.hpp"
#include "operators/stored/io/number_range.hpp"

namespace femcg::operators {

namespace {

constexpr const char* right_header = "'%%MatrixMarket matrix coordinate real general' or the like";

std::string lower_case(std::string_view word) {
  std::string text(word);
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// Throws MatrixMarketError for a file that is not in Matrix Market format.
void check_kind(std::string_view line) {
  if (line.starts_with("\x1f\x8b"))
    throw MatrixMarketError(1, "the file is compressed; unpack it first, with gunzip or tar");
  if (std::any_of(line.begin(), line.end(), [](unsigned char c) { return c < ' ' && !std::isspace(c); }))
    throw MatrixMarketError(
        1, fmt::format("this is a binary file; a Matrix Market file is text and begins with {}", right_header));
  if (lower_case(Words(line).next()) != "%%matrixmarket")
    throw MatrixMarketError(
        1, fmt::format("a Matrix Market file begins with {}, not with {}", right_header, in_quotes(line)));
}

MatrixField field_of(const std::string& word) {
  if (word == "complex") throw MatrixMarketError(1, "the matrix is complex, and femcg has real matrices only");
  // Earlier versions of the format used `double`.
  if (word == "real" || word == "double") return MatrixField::real;
  if (word == "integer") return MatrixField::integer;
  if (word == "pattern") return MatrixField::pattern;
  throw MatrixMarketError(
      1, fmt::format("the fourth word of the header is real, integer or pattern, not {}", in_quotes(word)));
}

MatrixSymmetry symmetry_of(const std::string& word) {
  if (word == "hermitian")
    throw MatrixMarketError(1, "the matrix is hermitian, and femcg has real matrices only; a real one is symmetric");
  if (word == "general") return MatrixSymmetry::general;
  if (word == "symmetric") return MatrixSymmetry::symmetric;
  if (word == "skew-symmetric") return MatrixSymmetry::skew_symmetric;
  throw MatrixMarketError(
      1, fmt::format("the fifth word of the header is general, symmetric or skew-symmetric, not {}", in_quotes(word)));
}

EntryFormat read_header(LineReader& reader) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // put before a text by some editors
  auto line = reader.next_line();
  if (!line) throw MatrixMarketError(1, "the file is empty");
  if (line->starts_with(byte_order_mark)) line->remove_prefix(byte_order_mark.size());
  check_kind(*line);
  Words words(*line);
  words.next();
  const std::string object = lower_case(words.next()), format = lower_case(words.next());
  const std::string field = lower_case(words.next()), symmetry = lower_case(words.next());
  if (symmetry.empty() || !words.next().empty())
    throw MatrixMarketError(1, fmt::format("the header has five words, {}, not {}", right_header, in_quotes(*line)));
  if (object != "matrix")
    throw MatrixMarketError(1, fmt::format("the file holds a {} and not a matrix", in_quotes(object)));
  if (format != "coordinate" && format != "array")
    throw MatrixMarketError(
        1, fmt::format("the third word of the header is coordinate or array, not {}", in_quotes(format)));
  EntryFormat header;
  header.array = format == "array";
  header.field = field_of(field);
  header.symmetry = symmetry_of(symmetry);
  if (header.field == MatrixField::pattern && header.array)
    throw MatrixMarketError(1, "an array has values: its field is real or integer, not pattern");
  if (header.field == MatrixField::pattern && header.symmetry == MatrixSymmetry::skew_symmetric)
    throw MatrixMarketError(1, "a pattern has no signs, so that it is general or symmetric, not skew-symmetric");
  return header;
}

/// Parses a number of the size line.
std::int64_t size_from(std::int64_t line, std::string_view word, const char* what, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (end != word.data() + word.size() || error == std::errc::invalid_argument || word.starts_with('-'))
    throw MatrixMarketError(line,
                            fmt::format("the number of {} is a whole number from 0 on, not {}", what, in_quotes(word)));
  if (error == std::errc::result_out_of_range || value > most)
    throw MatrixMarketError(line,
                            fmt::format("{} {} are more than the {} that femcg can hold", in_quotes(word), what, most));
  return value;
}

void read_size_line(LineReader& reader, EntryFormat& format) {
  const char* right = format.array ? "'rows columns'" : "'rows columns entries'";
  auto line = reader.next_line();
  while (line && !holds_data(*line)) line = reader.next_line();
  if (!line)
    throw MatrixMarketError(reader.line(), fmt::format("the file ends before the line with its size, {}", right));
  Words words(*line);
  const std::string_view rows = words.next(), columns = words.next();
  const std::string_view entries = format.array ? std::string_view("0") : words.next();
  if (columns.empty() || entries.empty() || !words.next().empty())
    throw MatrixMarketError(reader.line(),
                            fmt::format("the first line behind the comments is {}, not {}", right, in_quotes(*line)));
  constexpr std::int64_t most_rows = std::numeric_limits<std::int32_t>::max();
  const std::int64_t n = size_from(reader.line(), rows, "rows", most_rows);
  const std::int64_t m = size_from(reader.line(), columns, "columns", most_rows);
  if (n != m)
    throw MatrixMarketError(reader.line(), fmt::format("the matrix is {} x {}, and femcg needs a square one", n, m));
  format.rows = static_cast<std::int32_t>(n);
  format.entries = size_from(reader.line(), entries, "entries", std::numeric_limits<std::int64_t>::max());
  if (!format.array) return;
  format.entries = format.symmetry == MatrixSymmetry::general     ? n * n
                   : format.symmetry == MatrixSymmetry::symmetric ? n * (n + 1) / 2
                                                                  : n * (n - 1) / 2;
}

/// Line of the file at which an entry, or the sum of its duplicates, leaves the range.
std::int64_t line_of(const OutOfRange& wanted, const EntryParser& parser, Mirror mirror) {
  std::int64_t position = 0;
  double sum = 0;
  for (const Vector<Entry>& block : parser.entries())
    for (const Entry& entry : block.span()) {
      const bool here = entry.row == wanted.row && entry.column == wanted.column;
      const bool mirrored = mirror != Mirror::none && entry.row == wanted.column && entry.column == wanted.row;
      if (here || mirrored) {
        sum += entry.value;
        if (wanted.too_small || !(std::abs(sum) <= range_of_double.largest)) return parser.line_of(position);
      }
      ++position;
    }
  return 0;
}

void check_range(const CsrMatrix<double>& matrix, const EntryParser& parser, Mirror mirror) {
  const auto found = find_out_of_range(matrix, range_of_double);
  if (!found) return;
  const std::int64_t line = line_of(*found, parser, mirror);
  if (found->too_small)
    throw MatrixMarketError(line, fmt::format("row {} has no entry above {:.3g}, and below {:g} products lose digits; "
                                              "scale the matrix, or write 0",
                                              found->row + 1, std::abs(found->value), range_of_double.least));
  throw MatrixMarketError(line,
                          fmt::format("the entry ({}, {}) becomes {:.3g}, and above {:g} products overflow; scale "
                                      "the matrix",
                                      found->row + 1, found->column + 1, found->value, range_of_double.largest));
}

}  // namespace

const char* name(MatrixField field) {
  constexpr std::array names{"real", "integer", "pattern"};
  return names[static_cast<std::size_t>(field)];
}

const char* name(MatrixSymmetry symmetry) {
  constexpr std::array names{"general", "symmetric", "skew-symmetric"};
  return names[static_cast<std::size_t>(symmetry)];
}

MatrixMarketError::MatrixMarketError(std::int64_t line, const std::string& sentence)
    : std::runtime_error(line > 0 ? fmt::format("{}: {}", line, sentence) : sentence), line_(line) {}

MatrixFile read_matrix_market(const std::filesystem::path& file) {
  LineReader reader(file);
  EntryFormat format = read_header(reader);
  read_size_line(reader, format);
  EntryParser parser(format);
  for (std::string_view block = reader.next_block(); !block.empty(); block = reader.next_block())
    reader.passed(parser.parse(block, reader.line() + 1));
  if (parser.count() < format.entries)
    throw MatrixMarketError(reader.line(),
                            fmt::format("the file ends after {} of the {} entries that its size line promises: it is "
                                        "cut short, or the size line is wrong",
                                        parser.count(), format.entries));
  constexpr std::array mirrors{Mirror::none, Mirror::same, Mirror::negated};
  MatrixFile result;
  const Mirror mirror = mirrors[static_cast<std::size_t>(format.symmetry)];
  result.matrix = compress(format.rows, parser.entries(), mirror);
  check_range(result.matrix, parser, mirror);
  result.field = format.field;
  result.symmetry = format.symmetry;
  result.stored_entries = format.entries;
  return result;
}

namespace {

/// Writes the lines of rows [0, rows), which `add(row, text)` appends, in pieces of 1 MiB.
template <class Add>
void write_lines(std::ostream& stream, std::int64_t rows, const Add& add) {
  constexpr std::size_t piece = 1 << 20;
  fmt::memory_buffer text;
  for (std::int64_t row = 0; row < rows; ++row) {
    add(row, std::back_inserter(text));
    if (text.size() < piece && row + 1 < rows) continue;
    stream.write(text.data(), static_cast<std::streamsize>(text.size()));
    text.clear();
  }
}

}  // namespace

void write_matrix_market(std::ostream& stream, const CsrMatrix<double>& matrix) {
  std::int64_t entries = 0;
  for (std::int32_t row = 0; row < matrix.rows; ++row)
    for (std::int64_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k)
      entries += matrix.columns[k] <= row ? 1 : 0;
  stream << fmt::format("%%MatrixMarket matrix coordinate real symmetric\n{} {} {}\n", matrix.rows, matrix.rows,
                        entries);
  write_lines(stream, matrix.rows, [&](std::int64_t row, auto to) {
    for (std::int64_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1] && matrix.columns[k] <= row; ++k)
      fmt::format_to(to, "{} {} {:.16e}\n", row + 1, matrix.columns[k] + 1, matrix.values[k]);
  });
}

void write_matrix_market(std::ostream& stream, std::span<const std::span<const double>> columns) {
  stream << fmt::format("%%MatrixMarket matrix array real general\n{} {}\n", columns.front().size(), columns.size());
  for (const std::span<const double> column : columns)
    write_lines(stream, std::ssize(column), [&](std::int64_t row, auto to) {
      fmt::format_to(to, "{:.16e}\n", column[static_cast<std::size_t>(row)]);
    });
}

}  // namespace femcg::operators
