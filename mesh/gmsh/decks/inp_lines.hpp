#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace femcg::mesh {

/// A keyword line of an Abaqus input file: *ELEMENT, TYPE=C3D4, ELSET=part
struct InpKeyword {
  std::string name;                               ///< in upper case, without inner blanks
  std::map<std::string, std::string> parameters;  ///< names in upper case; values as written, without quotes
  std::size_t line = 0;
  std::size_t begin = 0, end = 0;  ///< byte range, including continuation lines

  bool has(const std::string& parameter) const { return parameters.contains(parameter); }
  /// Value of a parameter. Throws std::runtime_error, "line 3: ...", if it is missing.
  const std::string& value(const std::string& parameter) const;
};

/// Cursor over an Abaqus input file: keywords, each with data lines of comma-separated fields (commas in quotes do not
/// separate). Skips comments (**) and blank lines.
class InpLines {
 public:
  explicit InpLines(std::string_view text) : text_(text) {}

  /// Skips the rest of the current data lines and reads the next keyword. False at the end of the file.
  bool next_keyword(InpKeyword& keyword);
  /// Next data line of this keyword, its fields without blanks or quotes at their ends and without an empty last field.
  /// False if there are no more.
  bool next_data(std::vector<std::string_view>& fields);
  /// Number of the line read last, from 1.
  std::size_t line() const { return line_; }

 private:
  /// Next line that is no comment, without its line end; does not advance.
  bool peek(std::string_view& line);
  void pass() { at_ = after_peeked_; }

  std::string_view text_;
  std::size_t at_ = 0, after_peeked_ = 0;
  std::size_t line_ = 0, lines_before_ = 0, counted_to_ = 0;
};

}  // namespace femcg::mesh
