#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

// Splits a .geo script into words, without interpreting them.

namespace femcg::mesh {

struct GeoWord {
  enum class Kind { name, quoted, number, mark };
  Kind kind;
  std::string_view text;  ///< a name, a number, any other single character, or the text between quotes
  std::size_t place;      ///< position in the script
};

/// All words of the script; blanks and comments are skipped.
std::vector<GeoWord> geo_words(std::string_view script);

/// First name through which the mesh of a script may depend on more than the script: neither a command, function or
/// option known to depend on nothing else, nor a variable that the script sets. Empty if there is none.
std::string_view first_open_name(std::string_view script);

}  // namespace femcg::mesh
