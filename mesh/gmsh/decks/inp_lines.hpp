#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace femcg::mesh {

/// A keyword of an Abaqus input file: *ELEMENT, TYPE=C3D4, ELSET=part
struct InpKeyword {
  std::string name;                               ///< in upper case, without blanks within
  std::map<std::string, std::string> parameters;  ///< names in upper case; values as written, without quotes
  std::size_t line = 0;
  std::size_t begin = 0, end = 0;  ///< its bytes, with all lines that it goes on over

  bool has(const std::string& parameter) const { return parameters.contains(parameter); }
  /// Throws std::runtime_error, "line 3: ...", where it is not there.
  const std::string& value(const std::string& parameter) const;
};

/// Walks through an Abaqus input file: keywords, each with lines of fields that commas separate, but for those in
/// quotes. Comments (**) and blank lines are passed over.
class InpLines {
 public:
  explicit InpLines(std::string_view text) : text_(text) {}

  /// The next keyword, after the data lines that are left of this one. False at the end of the file.
  bool next_keyword(InpKeyword& keyword);
  /// The next data line of this keyword, its fields without blanks or quotes at their ends; one that is empty at the
  /// end is left out. False where there are no more.
  bool next_data(std::vector<std::string_view>& fields);
  /// The number of the line that was read last, from 1.
  std::size_t line() const { return line_; }

 private:
  /// The next line that is no comment, without its end; it stays the next one.
  bool peek(std::string_view& line);
  void pass() { at_ = after_peeked_; }

  std::string_view text_;
  std::size_t at_ = 0, after_peeked_ = 0;
  std::size_t line_ = 0, lines_before_ = 0, counted_to_ = 0;
};

}  // namespace femcg::mesh
