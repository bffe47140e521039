#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace femcg::mesh {

/// A card of Nastran's bulk data, with its continuation lines.
struct BdfCard {
  std::string name;                 ///< in upper case, without the * of large fields
  std::vector<std::string> fields;  ///< after the name, trimmed; eight per line, or four large ones
  std::size_t line = 0;             ///< line of the name

  /// Field by index; empty past the last one.
  std::string_view field(std::size_t number) const {
    return number < fields.size() ? fields[number] : std::string_view();
  }
};

/// Cursor over the cards between BEGIN BULK, if present, and ENDDATA. Fields have 8 or 16 columns, which tabs may fill,
/// or are separated by commas. A line continues the card before it if its first field is empty or begins with + or *;
/// if that card's line ends in a continuation name, the two names must agree.
class BdfCards {
 public:
  explicit BdfCards(std::string_view text);

  /// Reads the next card; false at the end. Throws std::runtime_error, "line 12: ...", for a misplaced line.
  bool next(BdfCard& card);
  /// True for a whole deck (BEGIN BULK) without ENDDATA.
  bool lacks_end() const { return begins_bulk_ && !ended_; }

 private:
  struct Line {
    std::string name, last;  ///< the first and the tenth field
    std::vector<std::string> fields;
    std::size_t number = 0;
    bool continues = false;
  };
  bool read_line(Line& line);

  std::string_view text_;
  std::size_t at_ = 0, number_ = 0;
  bool begins_bulk_ = false, ended_ = false;
  Line peeked_;
  bool has_peeked_ = false;
};

}  // namespace femcg::mesh
