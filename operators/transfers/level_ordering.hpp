#pragma once

#include <cstdint>
#include <span>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// The unknowns of a form in an operator's vectors: at place i that of number n = ordering[i], n = i where there is no
/// ordering, which in the form is unknowns[n] (IndexMap::unknowns), n where these are empty.
struct LevelOrdering {
  const Vector<std::int32_t>* ordering;  ///< Operator::ordering
  std::span<const std::int32_t> unknowns = {};
};

/// Unknowns of the form, negative where there are none, become their places. On the host.
void renumber(const LevelOrdering& ordering, std::span<std::int32_t> unknowns);

}  // namespace femcg::operators
