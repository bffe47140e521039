#pragma once

#include <cstdint>

#include "operators/vector.hpp"

namespace femcg::operators {

/// Compressed rows cut into tiles: runs of rows with at most `capacity` nonzeros, and at most `most_rows` rows; a
/// longer row is a tile of its own. Nothing without rows.
struct CsrTiles {
  static constexpr int most_rows = 255;

  Vector<std::int32_t> first_rows;  ///< of each tile, and the number of rows
  int capacity = 0;
  int largest = 0;  ///< the most entries of a tile that is not one long row
};

/// For rows of that mean length: at least 256 nonzeros a tile.
CsrTiles cut_into_tiles(const Vector<std::int64_t>& row_offsets);

}  // namespace femcg::operators
