#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace femcg::mesh {

/// At most 40 characters of a text, with ? for what is none.
std::string printable(std::string_view text);

/// Walks through the bytes of a .msh file: words and numbers of text, or numbers of a binary file of either byte order.
/// What it cannot read ends in std::runtime_error, "line 14: 'one' is not a number"; in the binary part of a file the
/// place is a byte.
class MshCursor {
 public:
  explicit MshCursor(std::string_view bytes) : bytes_(bytes) {}

  /// The section that is being read, for sentences on a file that ends within it, and to know its end mark.
  void enter(std::string_view section) { section_ = section; }
  std::string_view section() const { return section_; }

  /// From here on integer() and real() read binary numbers, after `swapped` those of the other byte order.
  void become_binary(bool swapped) { binary_ = true, swapped_ = swapped; }
  bool binary() const { return binary_; }

  /// Where the next word or number begins.
  std::size_t place();
  /// "line 3: " or, in a binary file, "byte 1024: " of a place, and the sentence.
  [[noreturn]] void fail(std::size_t place, const std::string& sentence) const;
  /// "it ends within $Nodes: the file is cut short"
  [[noreturn]] void fail_at_end() const;
  /// "line 3", "byte 1024".
  std::string name_of(std::size_t place) const;

  /// True if nothing but blanks is left.
  bool at_end();
  /// True if a line that begins with $ is next; in a binary section, whether its end mark is.
  bool at_mark();
  /// True if this text is next.
  bool next_is(std::string_view text) { return bytes_.substr(place()).starts_with(text); }
  /// The rest of this line, which may be empty, without blanks at its ends.
  std::string_view rest_of_line();
  /// Goes to the next line that begins with $, in a binary file to the end mark of the section, or to the end.
  void skip_to_mark();

  /// A word of text.
  std::string_view word();
  /// A whole number: always as text; or text or binary, of 4 or 8 bytes.
  std::int64_t text_integer();
  std::int64_t integer(int bytes) { return binary_ ? binary_integer(bytes) : text_integer(); }
  /// Passes over real numbers: as text they must be numbers.
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
