#pragma once

#include <cstdint>

#include "operators/stored/common/stored_format.hpp"

namespace femcg::operators {

/// A tile is eight neighbouring rows; a step is four of its columns, a batch four steps.
constexpr int rows_per_tile = 8, columns_per_step = 4, steps_per_batch = 4;
constexpr int columns_per_batch = columns_per_step * steps_per_batch;

struct alignas(16) BitmaskTile {
  std::int64_t first_value;  ///< of its entries, which are ordered by step, then by row
  std::int32_t first_batch;  ///< the batches of tile t end where those of tile t + 1 begin
  std::int32_t base;         ///< its first column
};

/// Masks of the steps of a batch: bit 4 i + s is set if row i has an entry in column s of the step.
struct alignas(16) BatchMasks {
  std::uint32_t of[steps_per_batch];
};

/// Column s of each step of a batch, less the tile's base. The last column of a tile is repeated up to the end of its
/// batch.
template <class Column>
struct alignas(steps_per_batch * sizeof(Column)) BatchColumns {
  Column of[steps_per_batch];
};

/// A matrix as plain pointers. `Column` is std::uint16_t or std::int32_t.
template <class Column_, class Value_>
struct BitmaskRows {
  using Column = Column_;
  using Value = Value_;

  std::int64_t rows;
  const BitmaskTile* tiles;             ///< and the end of the last
  const BatchMasks* masks;              ///< and one more batch, as for counts and columns
  const std::uint32_t* counts;          ///< byte k: number of entries of steps 0 to k of the batch
  const BatchColumns<Column>* columns;  ///< columns s of batch b at 4 b + s
  const Value* values;

  constexpr std::int64_t tile_count() const { return (rows + rows_per_tile - 1) / rows_per_tile; }
};

/// The tiles of a matrix.
template <std::floating_point Value>
struct BitmaskMatrix {
  std::int64_t rows = 0, nonzeros = 0;
  std::int64_t batches = 0;
  bool narrow = false;  ///< columns have 16 bits
  Vector<BitmaskTile> tiles;
  Vector<BatchMasks> masks;
  Vector<std::uint32_t> counts;
  Vector<BatchColumns<std::int32_t>> columns;
  Vector<BatchColumns<std::uint16_t>> narrow_columns;
  Vector<Value> values;

  static void arrays(auto& self, auto&& visit) {
    const std::int64_t batches = self.batches + 1, columns = columns_per_step * batches;
    visit("tiles of rows", self.tiles, self.tile_count() + 1);
    visit("masks of steps", self.masks, batches);
    visit("entries of steps", self.counts, batches);
    visit("columns", self.columns, self.narrow ? 0 : columns);
    visit("columns, 16 bits", self.narrow_columns, self.narrow ? columns : 0);
    visit("values", self.values, self.nonzeros);
  }

  std::int64_t tile_count() const { return (rows + rows_per_tile - 1) / rows_per_tile; }
  /// Calls work(rows) with the columns in their width.
  template <class Work>
  decltype(auto) with_pointers(const Work& work) const {
    return narrow ? work(pointers(narrow_columns.data())) : work(pointers(columns.data()));
  }

 private:
  template <class Column>
  BitmaskRows<Column, Value> pointers(const BatchColumns<Column>* from) const {
    return {rows, tiles.data(), masks.data(), counts.data(), from, values.data()};
  }
};

/// The tiles of a matrix, on the host. Throws std::invalid_argument if the number of batches exceeds 32 bits.
template <std::floating_point Value>
BitmaskMatrix<Value> tiles_of(const CsrMatrix<Value>& matrix);

/// Upper bound of the tiles, from row lengths only: no two rows have a common column.
template <std::floating_point Value>
BitmaskMatrix<Value> bound_of_tiles(const CsrMatrix<Value>& lengths);

/// Footprint of a product, which reads all that is stored.
template <std::floating_point Value>
Footprint footprint_of_tiles(const BitmaskMatrix<Value>& a) {
  const std::int64_t bytes = total_bytes(arrays_of(a));
  return stored_footprint<Value>(a.rows, a.nonzeros, a.nonzeros, bytes, bytes);
}

/// Mean number of entries of a step, of 32.
template <std::floating_point Value>
std::map<std::string, std::string> choice_of_tiles(const BitmaskMatrix<Value>& a);

}  // namespace femcg::operators
