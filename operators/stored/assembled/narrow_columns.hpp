#pragma once

#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// Columns as 16-bit offsets from a base per piece of the matrix.
struct NarrowColumns {
  Vector<std::int32_t> bases;
  Vector<std::uint16_t> columns;
};

/// Option `index` of the formats with 16-bit columns: bits of a stored column; auto for 16 where they fit.
inline bool is_index(std::string_view text) { return text == "auto" || text == "16" || text == "32"; }

/// The exception if option `index` is 16 and columns do not fit.
inline std::invalid_argument columns_do_not_fit() {
  return std::invalid_argument(
      "16-bit columns do not fit: some rows next to each other reach further than 65536 columns; use index: 32");
}

}  // namespace femcg::operators
