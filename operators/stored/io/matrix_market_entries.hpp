#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "operators/stored/assembled/coordinate_matrix.hpp"
#include "operators/stored/io/matrix_market.hpp"

namespace femcg::operators {

/// Format of the entries of a Matrix Market file, from its header and size line.
struct EntryFormat {
  bool array = false;  ///< one value per line, column by column; else "row column value", in any order
  MatrixField field = MatrixField::real;
  MatrixSymmetry symmetry = MatrixSymmetry::general;
  std::int32_t rows = 0;
  std::int64_t entries = 0;  ///< in the file
};

/// Splits a line into words, at blanks.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}
  /// The next word; empty after the last.
  std::string_view next();

 private:
  std::string_view rest_;
};

/// True for a line that is neither blank nor a comment.
bool holds_data(std::string_view line);

/// Quotes a piece of the file for an error message: at most 40 characters, '?' for those that do not print.
std::string in_quotes(std::string_view text);

/// Parses the entries of a file, block by block.
class EntryParser {
 public:
  explicit EntryParser(const EntryFormat& format) : format_(format) {}

  /// Parses whole lines in parallel, the first with number `first_line`. Returns their number. Throws MatrixMarketError
  /// for the first wrong line, for any number of threads.
  std::int64_t parse(std::string_view block, std::int64_t first_line);

  /// The entries so far in the order of the file, in blocks.
  const EntryBlocks& entries() const { return blocks_; }
  std::int64_t count() const { return count_; }
  /// Line number of an entry, entries counted from 0.
  std::int64_t line_of(std::int64_t entry) const;

 private:
  EntryFormat format_;
  EntryBlocks blocks_;
  std::int64_t count_ = 0;
  std::int64_t first_line_ = 0;              ///< of all blocks
  std::vector<std::int64_t> without_entry_;  ///< lines without an entry
};

}  // namespace femcg::operators
