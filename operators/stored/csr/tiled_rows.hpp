#pragma once

#include <map>
#include <string>

#include "operators/stored/assembled/narrow_columns.hpp"
#include "operators/stored/common/stored_format.hpp"
#include "operators/stored/csr/csr_launch.hpp"

namespace femcg::operators {

namespace streamed {

/// The end of each row, counted from the run with the first entry of its tile; that of a row which is longer than a
/// tile is not read. T is of the products.
template <class T, class Value>
Vector<std::uint16_t> ends_of_rows(const CsrMatrix<Value>& matrix, std::span<const Tile> tiles) {
  Vector<std::uint16_t> ends(matrix.rows);
  for (std::size_t t = 0; t + 1 < tiles.size(); ++t)
    for (std::int32_t row = tiles[t].first_row; row < tiles[t + 1].first_row; ++row)
      ends[row] = static_cast<std::uint16_t>(matrix.row_offsets[row + 1] - run_begin<T>(tiles[t].first_entry));
  return ends;
}

/// Numbers behind the last entry that whole runs may read: zeros.
constexpr std::int64_t run_padding = 4;

}  // namespace streamed

/// Compressed rows as the product of streamed rows reads them (streamed_rows.cuh), for a chunk of a matrix
/// (operators/stored/common/row_chunks.hpp): tiles, ends of rows, values, and columns in 32 bits or, where those of
/// every tile reach, as 16-bit offsets from its base. T: of the products.
template <std::floating_point T, std::floating_point Value_ = T>
struct TiledRows {
  using Value = Value_;

  /// `matrix` has lengths of rows alone. Option index.
  TiledRows(const CsrMatrix<Value>& matrix, Device device, const Options& given);

  static void arrays(auto& self, auto&& visit) {
    const std::int64_t stored = self.nonzeros + streamed::run_padding;
    visit("row ends", self.ends, self.rows);
    visit("tiles", self.tiles, self.tile_count + 1);
    visit("narrow columns", self.narrow_columns, self.is_narrow ? stored : 0);
    visit("columns", self.columns, self.is_narrow ? 0 : stored);
    visit("values", self.values, stored);
  }

  /// Chooses between columns of 16 and 32 bits. Throws std::invalid_argument where 16 do not do and must.
  void look_at(const Entries<Value>& source, std::int32_t column_count);
  void fill(const Entries<Value>& source);

  std::int64_t read_bytes(Device) const {
    return ends.bytes() + tiles.bytes() + nonzeros * std::int64_t{sizeof(Value)} + nonzeros * (is_narrow ? 2 : 4);
  }
  std::map<std::string, std::string> chosen() const { return {{"index", is_narrow ? "16" : "32"}}; }

  std::int32_t rows;
  std::int64_t nonzeros, entries;
  std::int64_t tile_count;  ///< without the end of the last
  bool narrow, wide;        ///< what columns may be
  bool is_narrow;           ///< what they are; before look_at, what they are at the most
  Vector<std::uint16_t> ends;
  Vector<streamed::Tile> tiles;
  Vector<std::uint16_t> narrow_columns;
  Vector<std::int32_t> columns;
  Vector<Value> values;
};

}  // namespace femcg::operators
