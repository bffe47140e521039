#pragma once

#include <functional>
#include <string>

#include "solver/case/case_tree.hpp"

namespace femcg::solver {

/// Name of a position in the text, for messages; line and column count from 1, line 0 is the whole text.
using PlaceOf = std::function<Place(int line, int column)>;

/// Parses YAML into a tree; a null node for an empty text. Throws InputError if the text is not YAML, has unusual line
/// ends, a second document, more or deeper values than a case needs, or a recursive alias.
CaseNode read_yaml(const std::string& text, const PlaceOf& place_of);

}  // namespace femcg::solver
