#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

// The words of a .geo script, without knowing what they do.

namespace femcg::mesh {

struct GeoWord {
  enum class Kind { name, quoted, number, mark };
  Kind kind;
  std::string_view text;  ///< a name, a number, one character that is neither, or what stands between quotes
  std::size_t place;      ///< where it begins in the script
};

/// All but blanks and comments.
std::vector<GeoWord> geo_words(std::string_view script);

/// The first name in a script with which its mesh may depend on more than the script: any that is neither a command,
/// function or option known to depend on nothing else, nor a variable that the script sets. Empty where there is none.
std::string_view first_open_name(std::string_view script);

}  // namespace femcg::mesh
