#include "mesh/gmsh/check/msh_cursor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <stdexcept>

namespace femcg::mesh {

namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::size_t most = 40;
  std::string shown(text.substr(0, most));
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return !std::isprint(c); }, '?');
  return text.size() > most ? shown + "..." : shown;
}

std::string MshCursor::name_of(std::size_t place) const {
  if (binary_) return fmt::format("byte {}", place);
  const std::string_view before = bytes_.substr(0, place);
  return fmt::format("line {}", 1 + std::count(before.begin(), before.end(), '\n'));
}

void MshCursor::fail(std::size_t place, const std::string& sentence) const {
  throw std::runtime_error(fmt::format("{}: {}", name_of(place), sentence));
}

void MshCursor::fail_at_end() const {
  throw std::runtime_error(fmt::format("it ends within ${}: the file is cut short", printable(section_)));
}

void MshCursor::skip_blanks() {
  while (at_ < bytes_.size() && is_blank(bytes_[at_])) ++at_;
}

std::size_t MshCursor::place() {
  if (!binary_) skip_blanks();
  return at_;
}

bool MshCursor::at_end() {
  skip_blanks();
  return at_ == bytes_.size();
}

bool MshCursor::at_mark() {
  if (!binary_) {
    skip_blanks();
    return at_ < bytes_.size() && bytes_[at_] == '$';
  }
  std::string_view rest = bytes_.substr(at_);
  for (int breaks = 0; breaks < 2 && !rest.empty() && (rest[0] == '\r' || rest[0] == '\n'); ++breaks)
    rest.remove_prefix(1);
  return rest.starts_with("$End") && rest.substr(4).starts_with(section_);
}

std::string_view MshCursor::rest_of_line() {
  const std::size_t end = std::min(bytes_.find('\n', at_), bytes_.size());
  const std::string_view text = trimmed(bytes_.substr(at_, end - at_));
  at_ = std::min(end + 1, bytes_.size());
  return text;
}

void MshCursor::skip_to_mark() {
  const std::string mark = binary_ ? fmt::format("$End{}", section_) : "$";
  while (at_ < bytes_.size() && !bytes_.substr(at_).starts_with(mark)) {
    const std::size_t next = bytes_.find(binary_ ? mark : "\n$", at_);
    at_ = next == std::string_view::npos ? bytes_.size() : next + (binary_ ? 0 : 1);
  }
}

std::string_view MshCursor::word() {
  if (at_end()) fail_at_end();
  const std::size_t begin = at_;
  while (at_ < bytes_.size() && !is_blank(bytes_[at_])) ++at_;
  return bytes_.substr(begin, at_ - begin);
}

void MshCursor::fail_as_number(std::string_view word, const char* reason) {
  const std::size_t place = at_ - word.size();
  if (word.starts_with('$'))
    fail(place, fmt::format("{} stands where ${} still lacks a number: a count is too large", printable(word),
                            printable(section_)));
  fail(place, fmt::format("'{}' is {}", printable(word), reason));
}

std::int64_t MshCursor::text_integer() {
  skip_blanks();
  // Fast path: nearly all integers are a few digits followed by a blank.
  constexpr std::size_t most_digits = 18;
  const std::size_t first = at_, last = std::min(bytes_.size(), at_ + most_digits);
  std::int64_t digits = 0;
  std::size_t i = at_;
  for (; i < last && bytes_[i] >= '0' && bytes_[i] <= '9'; ++i) digits = 10 * digits + (bytes_[i] - '0');
  if (i > first && i < bytes_.size() && is_blank(bytes_[i])) {
    at_ = i;
    return digits;
  }
  const std::string_view text = word();
  const char *begin = text.data() + text.starts_with('+'), *end = text.data() + text.size();
  std::int64_t value = 0;
  const auto [rest, error] = std::from_chars(begin, end, value);
  if (error == std::errc() && rest == end) return value;
  double real = 0;
  const bool is_number = std::from_chars(begin, end, real).ptr == end && begin != end;
  fail_as_number(text, error == std::errc::result_out_of_range ? "too large for a count or a tag"
                       : is_number                             ? "not a whole number"
                                                               : "not a number");
}

std::int64_t MshCursor::binary_integer(int bytes) {
  if (bytes_.size() - at_ < static_cast<std::size_t>(bytes)) fail_at_end();
  const char* raw = bytes_.data() + at_;
  at_ += bytes;
  if (bytes == 4) {
    std::uint32_t value = 0;
    std::memcpy(&value, raw, sizeof value);
    return static_cast<std::int32_t>(swapped_ ? __builtin_bswap32(value) : value);
  }
  std::uint64_t value = 0;
  std::memcpy(&value, raw, sizeof value);
  return static_cast<std::int64_t>(swapped_ ? __builtin_bswap64(value) : value);
}

void MshCursor::reals(std::size_t count) {
  if (binary_) {
    if ((bytes_.size() - at_) / sizeof(double) < count) fail_at_end();
    at_ += count * sizeof(double);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view text = word();
    const char *begin = text.data() + text.starts_with('+'), *end = text.data() + text.size();
    double value = 0;
    const auto [rest, error] = std::from_chars(begin, end, value);
    if (error == std::errc::invalid_argument || rest != end) fail_as_number(text, "not a number");
  }
}

}  // namespace femcg::mesh
