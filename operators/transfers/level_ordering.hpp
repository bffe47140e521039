#pragma once

#include <cstdint>
#include <span>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// Numbering of a form's unknowns in an operator's vectors: entry i is unknown n = ordering[i], n = i if the ordering
/// is empty; its index in the form is unknowns[n] (IndexMap::unknowns), n if these are empty.
struct LevelOrdering {
  const Vector<std::int32_t>* ordering;  ///< Operator::ordering
  std::span<const std::int32_t> unknowns = {};
};

/// Replaces unknowns of the form, negative for none, by their entries of the vectors. On the host.
void renumber(const LevelOrdering& ordering, std::span<std::int32_t> unknowns);

}  // namespace femcg::operators
