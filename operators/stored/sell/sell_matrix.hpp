#pragma once

#include <bit>

#include "operators/stored/assembled/csr_matrix.hpp"
#include "operators/stored/common/stored_format.hpp"

namespace femcg::operators {

/// Rows that a block of the GPU processes together; within such a run chunks are sorted by length.
constexpr int rows_per_run = 256;

/// A matrix in chunks of rows, on the host: entry k of a chunk's rows before entry k + 1, rows padded to the longest of
/// their chunk by zeros in the row's last column.
template <std::floating_point T>
struct SellMatrix {
  std::int64_t rows = 0, nonzeros = 0, chunk_rows = 1;
  std::int64_t sigma = 1;        ///< rows of a window, which are sorted together
  std::int64_t entries = 0;      ///< padding included
  Vector<std::int64_t> offsets;  ///< [chunks + 1]
  Vector<std::int32_t> columns;
  Vector<T> values;
  Vector<std::int32_t> places;  ///< row at each position; empty if rows keep their order
  Vector<std::int32_t>
      ordering;  ///< row at each position, if x and y are in the order of positions too; columns are then positions

  /// Either `ordering` or `places` is empty.
  static void arrays(auto& self, auto&& visit) {
    visit("columns", self.columns, self.entries);
    visit("values", self.values, self.entries);
    visit("chunk offsets", self.offsets, self.chunks() + 1);
    visit("rows at positions", self.places, self.ordering.size() == 0 && self.sigma > 1 ? self.rows : 0);
    visit("ordering", self.ordering, self.ordering.size());
  }

  /// Moves a row with its padding by one thread a position: adjacent threads write adjacent entries.
  struct Positions {
    Entries<T> source;
    std::int64_t chunk_rows;
    const std::int64_t* offsets;
    const std::int32_t* row_at;  ///< null if rows keep their order
    constexpr std::int64_t count(std::int64_t position) const {
      const std::int64_t chunk = position / chunk_rows;
      return (offsets[chunk + 1] - offsets[chunk]) / chunk_rows;
    }
    constexpr std::int64_t from(std::int64_t position, std::int64_t k) const {
      return source.place(row_at == nullptr || position >= source.rows ? position : row_at[position], k);
    }
    constexpr std::int64_t to(std::int64_t position, std::int64_t k) const {
      return offsets[position / chunk_rows] + position % chunk_rows + k * chunk_rows;
    }
  };
  void move_entries(const Entries<T>& source, auto&& move) {
    const std::int32_t* row_at = ordering.size() > 0 ? ordering.data() : places.size() > 0 ? places.data() : nullptr;
    move(chunks() * chunk_rows, Positions{source, chunk_rows, offsets.data(), row_at}, columns, values);
  }

  std::int64_t chunks() const { return (rows + chunk_rows - 1) / chunk_rows; }
  std::int64_t row_at(std::int64_t position) const { return places.size() > 0 ? places[position] : position; }
  /// Stored entries before the chunk that begins with a row, or before the next chunk.
  auto entries_before() const {
    return [this](std::int64_t row) { return offsets[(row + chunk_rows - 1) / chunk_rows]; };
  }
};

/// Positions of 16-bit columns in a chunk [begin, end): two consecutive entries of a row are adjacent, so that one load
/// has both. The last of an odd number is at the position of its value.
struct InPairs {
  std::int64_t chunk_rows;

  /// Position of entry k of `count` entries of a row at `lane` of its chunk.
  constexpr std::int64_t place(std::int64_t begin, std::int64_t lane, std::int64_t k, std::int64_t count) const {
    const bool alone = k % 2 == 0 && k + 1 == count;
    return alone ? begin + k * chunk_rows + lane : begin + k / 2 * 2 * chunk_rows + 2 * lane + k % 2;
  }
  constexpr std::int64_t operator()(std::int64_t at, std::int64_t begin, std::int64_t end) const {
    return place(begin, (at - begin) % chunk_rows, (at - begin) / chunk_rows, (end - begin) / chunk_rows);
  }
};

/// The matrix by rows, for products with multi-vectors and the persistent kernel. Columns have 32 bits, or 16 bits in
/// pairs.
template <class Column, class Number>
struct SellByRows {
  using Value = Number;
  struct Row {
    std::int64_t begin;
    std::int32_t lane, count, base, number;
  };
  std::int32_t rows, chunk_rows, log_chunk_rows;
  const std::int64_t* offsets;
  const Column* columns;
  const Value* values;
  const std::int32_t* places;  ///< row at each position; null if rows keep their order
  const std::int32_t* bases;   ///< least column of each chunk; null for 32-bit columns

  constexpr Row find(std::int32_t position) const {
    const std::int32_t chunk = position >> log_chunk_rows;
    const std::int64_t begin = offsets[chunk];
    return {begin, position & (chunk_rows - 1),
            static_cast<std::int32_t>((offsets[chunk + 1] - begin) >> log_chunk_rows),
            bases == nullptr ? 0 : bases[chunk], places == nullptr ? position : places[position]};
  }
  constexpr std::int64_t at(const Row& row, std::int32_t k) const {
    return row.begin + (std::int64_t{k} << log_chunk_rows) + row.lane;
  }
  constexpr std::int32_t column(const Row& row, std::int32_t k) const {
    if constexpr (sizeof(Column) == 4) return columns[at(row, k)];
    const std::int32_t odd = k & 1, last_alone = odd == 0 && k + 1 == row.count ? 1 : 0;  // as in InPairs
    const std::int64_t pair = row.begin + (std::int64_t{k - odd} << log_chunk_rows);
    return row.base + columns[pair + (last_alone != 0 ? row.lane : 2 * row.lane + odd)];
  }
  constexpr Value value(const Row& row, std::int32_t k) const { return values[at(row, k)]; }
};

/// `matrix` by rows with columns and bases in place of its own.
template <std::floating_point T, class Column>
SellByRows<Column, T> sell_by_rows(const SellMatrix<T>& matrix, const Column* columns, const std::int32_t* bases) {
  return {static_cast<std::int32_t>(matrix.rows),
          static_cast<std::int32_t>(matrix.chunk_rows),
          std::countr_zero(static_cast<std::uint64_t>(matrix.chunk_rows)),
          matrix.offsets.data(),
          columns,
          matrix.values.data(),
          matrix.places.size() > 0 ? matrix.places.data() : nullptr,
          bases};
}

/// Offsets and places of the matrix, without columns and values. Rows are sorted by length within windows of sigma
/// rows, 1 for none; with several windows, the chunks of each window are sorted by their first rows, then by length
/// within runs.
template <std::floating_point T>
SellMatrix<T> lists_of_sell(const CsrMatrix<T>& matrix, std::int64_t chunk_rows, std::int64_t sigma);

/// Takes the order of positions for x and y too: existing columns are renumbered, and `places` become the ordering.
template <std::floating_point T>
void enter_own_ordering(SellMatrix<T>& a);

/// The position of each row: the inverse of `rows`, the row at each position.
Vector<std::int32_t> positions_of(const Vector<std::int32_t>& rows);

/// Footprint of a product, which reads all stored data but the ordering.
template <std::floating_point T>
Footprint footprint_of(const SellMatrix<T>& a, std::int64_t bytes_of_columns) {
  const std::int64_t read =
      a.entries * std::int64_t{sizeof(T)} + bytes_of_columns + a.offsets.bytes() + a.places.bytes();
  return stored_footprint<T>(a.rows, a.nonzeros, a.entries, read + a.ordering.bytes(), read);
}

/// Permutes values of rows to their positions.
template <std::floating_point T>
Vector<T> diagonal_at_positions(const Vector<T>& of_rows, const Vector<std::int32_t>& places);

/// The complete matrix.
template <std::floating_point T>
SellMatrix<T> to_sell(const CsrMatrix<T>& matrix, std::int64_t chunk_rows, std::int64_t sigma);

}  // namespace femcg::operators
