#pragma once

#include <map>
#include <string>

#include "operators/stored/assembled/narrow_columns.hpp"
#include "operators/stored/common/stored_format.hpp"
#include "operators/stored/csr/csr_launch.hpp"

namespace femcg::operators {

namespace streamed {

/// The end of each row, counted from the run with the first entry of its tile; not used for a row that is longer than a
/// tile. T is the type of the products.
template <class T, class Value>
Vector<std::uint16_t> ends_of_rows(const CsrMatrix<Value>& matrix, std::span<const Tile> tiles) {
  Vector<std::uint16_t> ends(matrix.rows);
  for (std::size_t t = 0; t + 1 < tiles.size(); ++t)
    for (std::int32_t row = tiles[t].first_row; row < tiles[t + 1].first_row; ++row)
      ends[row] = static_cast<std::uint16_t>(matrix.row_offsets[row + 1] - run_begin<T>(tiles[t].first_entry));
  return ends;
}

/// Zeros behind the last entry, which whole runs may read.
constexpr std::int64_t run_padding = 4;

}  // namespace streamed

/// Compressed rows in the layout of streamed rows (streamed_rows.cuh), for a chunk of a matrix
/// (operators/stored/common/row_chunks.hpp): tiles, row ends, values, and columns in 32 bits, or as 16-bit offsets from
/// the tile's base if all tiles' fit. T is the type of the products.
template <std::floating_point T, std::floating_point Value_ = T>
struct TiledRows {
  using Value = Value_;

  /// `matrix` has row lengths only. Option index.
  TiledRows(const CsrMatrix<Value>& matrix, Device device, const Options& given);

  static void arrays(auto& self, auto&& visit) {
    const std::int64_t stored = self.nonzeros + streamed::run_padding;
    visit("row ends", self.ends, self.rows);
    visit("tiles", self.tiles, self.tile_count + 1);
    visit("narrow columns", self.narrow_columns, self.is_narrow ? stored : 0);
    visit("columns", self.columns, self.is_narrow ? 0 : stored);
    visit("values", self.values, stored);
  }

  /// Chooses between 16-bit and 32-bit columns. Throws std::invalid_argument if 16 bits are required and do not fit.
  void look_at(const Entries<Value>& source, std::int32_t column_count);
  void fill(const Entries<Value>& source);

  std::int64_t read_bytes(Device) const {
    return ends.bytes() + tiles.bytes() + nonzeros * std::int64_t{sizeof(Value)} + nonzeros * (is_narrow ? 2 : 4);
  }
  std::map<std::string, std::string> chosen() const { return {{"index", is_narrow ? "16" : "32"}}; }

  std::int32_t rows;
  std::int64_t nonzeros, entries;
  std::int64_t tile_count;  ///< without the end of the last
  bool narrow, wide;        ///< allowed widths of columns
  bool is_narrow;           ///< actual width; before look_at, an upper bound
  Vector<std::uint16_t> ends;
  Vector<streamed::Tile> tiles;
  Vector<std::uint16_t> narrow_columns;
  Vector<std::int32_t> columns;
  Vector<Value> values;
};

}  // namespace femcg::operators
