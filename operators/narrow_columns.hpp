#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "operators/vector.hpp"

namespace femcg::operators {

/// Columns as 16-bit offsets from a base a piece of the matrix, a piece being entries [offsets[i], offsets[i + 1]).
struct NarrowColumns {
  Vector<std::int32_t> bases;
  Vector<std::uint16_t> columns;
};

/// Nothing (no bases) where some piece spans more than 65536 columns. On the host, in parallel.
inline NarrowColumns narrow_columns(const Vector<std::int32_t>& columns, const Vector<std::int64_t>& offsets) {
  const std::int64_t pieces = std::max<std::int64_t>(0, offsets.size() - 1);
  NarrowColumns narrow{Vector<std::int32_t>(pieces), Vector<std::uint16_t>(columns.size())};
  bool fits = true;
#pragma omp parallel for schedule(static) reduction(&& : fits)
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const std::int32_t *begin = columns.data() + offsets[piece], *end = columns.data() + offsets[piece + 1];
    const auto [least, largest] = std::minmax_element(begin, end);
    const std::int32_t base = begin == end ? 0 : *least;
    narrow.bases[piece] = base;
    if (begin != end && *largest - base > std::numeric_limits<std::uint16_t>::max()) fits = false;
    for (const std::int32_t* column = begin; column != end; ++column)
      narrow.columns[column - columns.data()] = static_cast<std::uint16_t>(*column - base);
  }
  return fits ? std::move(narrow) : NarrowColumns{};
}

}  // namespace femcg::operators
