#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// Reads a text file in blocks of whole lines, which allows for pipes and for files larger than the memory. Files are
/// copied rather than mapped: a file that shrinks meanwhile gives an error instead of a crash.
class LineReader {
 public:
  /// Throws MatrixMarketError if the file is missing, a folder or unreadable.
  explicit LineReader(const std::filesystem::path& file, std::int64_t block_bytes = 32 << 20);

  /// The next line, without its line end; nothing after the last. Valid, as is the block, until the next call.
  std::optional<std::string_view> next_line();
  /// The rest of the current block of lines, else the next block; empty after the last. The caller reports the lines of
  /// a block by passed(). Throws MatrixMarketError if a line is longer than a block, or reading fails.
  std::string_view next_block();
  void passed(std::int64_t lines) { line_ += lines; }

  /// Number of the last line returned, from 1.
  std::int64_t line() const { return line_; }

 private:
  void refill();

  std::ifstream stream_;
  Vector<char> buffer_;
  std::string_view lines_;  ///< whole lines not yet returned, in the buffer
  std::string_view rest_;   ///< beginning of a line, behind them
  std::int64_t line_ = 0;
};

}  // namespace femcg::operators
