#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace femcg::mesh {

/// A card of Nastran's bulk data with the lines that continue it.
struct BdfCard {
  std::string name;                 ///< in upper case, without the * of large fields
  std::vector<std::string> fields;  ///< after the name, without blanks; eight for each line, or four large ones
  std::size_t line = 0;             ///< of its name

  /// Empty behind the last.
  std::string_view field(std::size_t number) const {
    return number < fields.size() ? fields[number] : std::string_view();
  }
};

/// Walks through the cards between BEGIN BULK, where there is one, and ENDDATA. Fields are of 8 or 16 columns, which
/// tabs may fill, or between commas. A line continues the card before it where its first field is empty or begins with
/// + or *; a name there must be that at the end of the line before, where that has one.
class BdfCards {
 public:
  explicit BdfCards(std::string_view text);

  /// False at the end. Throws std::runtime_error, "line 12: ...", for a line that has no place.
  bool next(BdfCard& card);
  /// True for a whole deck (BEGIN BULK) that ends without ENDDATA.
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
