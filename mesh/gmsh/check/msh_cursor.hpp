#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace femcg::mesh {

/// At most 40 characters of a text, with ? for unprintable ones.
std::string printable(std::string_view text);

/// Cursor over the bytes of a .msh file: words and numbers of text, or binary numbers of either byte order. Throws
/// std::runtime_error for anything unreadable, "line 14: 'one' is not a number"; in binary files the position is a
/// byte.
class MshCursor {
 public:
  explicit MshCursor(std::string_view bytes) : bytes_(bytes) {}

  /// Sets the current section, for messages about a file that ends within it and to recognise its end mark.
  void enter(std::string_view section) { section_ = section; }
  std::string_view section() const { return section_; }

  /// From here on integer() and real() read binary numbers, with swapped bytes if `swapped`.
  void become_binary(bool swapped) { binary_ = true, swapped_ = swapped; }
  bool binary() const { return binary_; }

  /// Position of the next word or number.
  std::size_t place();
  /// Throws std::runtime_error: the position, "line 3: " or in a binary file "byte 1024: ", and the sentence.
  [[noreturn]] void fail(std::size_t place, const std::string& sentence) const;
  /// Throws std::runtime_error: "it ends within $Nodes: the file is cut short".
  [[noreturn]] void fail_at_end() const;
  /// Name of a position: "line 3" or "byte 1024".
  std::string name_of(std::size_t place) const;

  /// True if only blanks are left.
  bool at_end();
  /// True if the next line begins with $; in a binary section, if its end mark is next.
  bool at_mark();
  /// True if this text is next.
  bool next_is(std::string_view text) { return bytes_.substr(place()).starts_with(text); }
  /// The rest of this line, which may be empty, without blanks at its ends.
  std::string_view rest_of_line();
  /// Moves to the next line that begins with $, in a binary file to the end mark of the section, or to the end.
  void skip_to_mark();

  /// Next word of text.
  std::string_view word();
  /// Next integer: text_integer always reads text; integer reads text, or a binary number of 4 or 8 bytes.
  std::int64_t text_integer();
  std::int64_t integer(int bytes) { return binary_ ? binary_integer(bytes) : text_integer(); }
  /// Skips real numbers; throws if the text is not a number.
  void reals(std::size_t count);

 private:
  void skip_blanks();
  [[noreturn]] void fail_as_number(std::string_view word, const char* reason);
  std::int64_t binary_integer(int bytes);

  std::string_view bytes_, section_;
  std::size_t at_ = 0;
  bool binary_ = false, swapped_ = false;
};

}  // namespace femcg::mesh
