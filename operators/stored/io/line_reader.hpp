#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// A text file in blocks of whole lines, so that a file larger than the memory can be read, and a pipe. The file is
/// copied rather than mapped: one that shrinks meanwhile is an error then and not a crash.
class LineReader {
 public:
  /// Throws MatrixMarketError where the file is missing, a folder or unreadable.
  explicit LineReader(const std::filesystem::path& file, std::int64_t block_bytes = 32 << 20);

  /// The next line, without its line end; nothing after the last. Valid until the next call, as the block is.
  std::optional<std::string_view> next_line();
  /// The rest of the current block of lines, else the next block; empty after the last. The caller counts the lines of
  /// a block in `passed`. Throws MatrixMarketError where a line is longer than a block, or reading fails.
  std::string_view next_block();
  void passed(std::int64_t lines) { line_ += lines; }

  /// Number of the last line that was given, counted from 1.
  std::int64_t line() const { return line_; }

 private:
  void refill();

  std::ifstream stream_;
  Vector<char> buffer_;
  std::string_view lines_;  ///< whole lines not yet given, in the buffer
  std::string_view rest_;   ///< the beginning of a line, behind them
  std::int64_t line_ = 0;
};

}  // namespace femcg::operators
