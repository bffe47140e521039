#pragma once

#include <functional>
#include <string>

#include "solver/case/case_tree.hpp"

namespace femcg::solver {

/// Name of a place in the text for messages; line and column count from 1, line 0 is the text as a whole.
using PlaceOf = std::function<Place(int line, int column)>;

/// A text in YAML as a tree; null where nothing stands in it. Throws InputError where it is no YAML, ends its lines in
/// a way of its own, has a second document, more values or deeper ones than a case needs, or an alias of itself.
CaseNode read_yaml(const std::string& text, const PlaceOf& place_of);

}  // namespace femcg::solver
