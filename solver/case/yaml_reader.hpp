#pragma once

#include <functional>
#include <string>

#include "solver/case/case_tree.hpp"

namespace femcg::solver {

/// What to call a place of the text in messages; line and column count from 1, and line 0 is no place within it.
using PlaceOf = std::function<Place(int line, int column)>;

/// A text in YAML as a tree; null where nothing stands in it. Throws InputError where it is no YAML, ends its lines in
/// a way of its own, has a second document, more values or deeper ones than a case needs, or an alias of itself.
CaseNode read_yaml(const std::string& text, const PlaceOf& place_of);

}  // namespace femcg::solver
