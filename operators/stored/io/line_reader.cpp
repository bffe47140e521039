#include "operators/stored/io/line_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "operators/stored/io/matrix_market.hpp"

namespace femcg::operators {

LineReader::LineReader(const std::filesystem::path& file, std::int64_t block_bytes) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) throw MatrixMarketError(0, "there is no such file");
  if (std::filesystem::is_directory(file, ignored)) throw MatrixMarketError(0, "this is a folder, not a file");
  stream_.open(file, std::ios::binary);
  if (!stream_)
    throw MatrixMarketError(0, fmt::format("the file cannot be opened for reading ({})", std::strerror(errno)));
  // Small buffers for small files, one byte larger than the file to see its end immediately.
  const bool regular = std::filesystem::is_regular_file(file, ignored);
  const std::uintmax_t size = regular ? std::filesystem::file_size(file, ignored) : 0;
  const bool small = regular && !ignored && size < static_cast<std::uintmax_t>(block_bytes);
  buffer_ = Vector<char>(small ? static_cast<std::int64_t>(size) + 1 : block_bytes);
}

std::optional<std::string_view> LineReader::next_line() {
  if (lines_.empty()) refill();
  if (lines_.empty()) return std::nullopt;
  const std::size_t end = lines_.find('\n');
  const std::string_view line = lines_.substr(0, end);
  lines_.remove_prefix(end == std::string_view::npos ? lines_.size() : end + 1);
  ++line_;
  return line;
}

std::string_view LineReader::next_block() {
  if (lines_.empty()) refill();
  return std::exchange(lines_, {});
}

void LineReader::refill() {
  std::copy(rest_.begin(), rest_.end(), buffer_.data());
  const auto kept = static_cast<std::int64_t>(rest_.size());
  rest_ = {};
  if (!stream_.is_open()) return;
  errno = 0;
  stream_.read(buffer_.data() + kept, buffer_.size() - kept);
  if (stream_.bad()) throw MatrixMarketError(line_ + 1, fmt::format("reading fails here ({})", std::strerror(errno)));
  const std::string_view text(buffer_.data(), static_cast<std::size_t>(kept + stream_.gcount()));
  if (stream_.eof()) {
    stream_.close();
    lines_ = text;
    return;
  }
  const std::size_t last_end = text.rfind('\n');
  if (last_end == std::string_view::npos)
    throw MatrixMarketError(line_ + 1, fmt::format("this line does not end within {} bytes", buffer_.size()));
  lines_ = text.substr(0, last_end + 1);
  rest_ = text.substr(last_end + 1);
}

}  // namespace femcg::operators
