#include "operators/stored/csr_bitmask/bitmask_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

namespace femcg::operators {

namespace {

/// Traverses the columns of a tile, in ascending order.
template <std::floating_point Value>
class TileColumns {
 public:
  TileColumns(const CsrMatrix<Value>& matrix, std::int64_t tile) : columns_(matrix.columns.data()) {
    for (int i = 0; i < rows_per_tile; ++i) {
      const std::int64_t row = std::min<std::int64_t>(matrix.rows, rows_per_tile * tile + i);
      at_[i] = matrix.row_offsets[row];
      end_[i] = matrix.row_offsets[std::min<std::int64_t>(matrix.rows, row + 1)];
    }
  }
  /// Calls take(column, entries) for each column: entries[i] is the index of row i's entry in the matrix, or -1.
  template <class Take>
  void for_each(const Take& take) {
    constexpr std::int32_t none = std::numeric_limits<std::int32_t>::max();
    std::array<std::int32_t, rows_per_tile> next;
    const auto look = [&](int i) { next[i] = at_[i] < end_[i] ? columns_[at_[i]] : none; };
    for (int i = 0; i < rows_per_tile; ++i) look(i);
    std::array<std::int64_t, rows_per_tile> entries;
    for (std::int32_t column; (column = *std::ranges::min_element(next)) != none;) {
      for (int i = 0; i < rows_per_tile; ++i) {
        entries[i] = next[i] == column ? at_[i]++ : -1;
        if (entries[i] >= 0) look(i);
      }
      take(column, entries);
    }
  }

 private:
  const std::int32_t* columns_;
  std::array<std::int64_t, rows_per_tile> at_, end_;
};

std::int64_t batches_of(std::int64_t columns) { return (columns + columns_per_batch - 1) / columns_per_batch; }

/// Writes the batches and values of a tile whose first ones are known.
template <std::floating_point Value, class Column>
void write_tile(const CsrMatrix<Value>& matrix, std::int64_t number, const BitmaskTile& tile, BatchMasks* masks,
                std::uint32_t* counts, BatchColumns<Column>* columns, Value* values) {
  std::int64_t batch = tile.first_batch - std::int64_t{1};
  std::int32_t last = tile.base, seen = 0;
  std::uint32_t of_batch = 0;
  std::array<std::array<std::int64_t, columns_per_step>, rows_per_tile> entries;
  Value* to = values + tile.first_value;
  const auto end_step = [&](int step) {
    std::uint32_t mask = 0;
    for (int bit = 0; bit < rows_per_tile * columns_per_step; ++bit) {
      const std::int64_t entry = entries[bit / columns_per_step][bit % columns_per_step];
      if (entry < 0) continue;
      mask |= std::uint32_t{1} << bit;
      *to++ = matrix.values[entry];
    }
    of_batch += std::popcount(mask);
    masks[batch].of[step] = mask;
    counts[batch] |= of_batch << 8 * step;
    for (auto& of_row : entries) of_row.fill(-1);
  };
  const auto add = [&](std::int32_t column, const auto& of_rows) {
    const int in_batch = seen++ % columns_per_batch, place = in_batch % columns_per_step;
    if (in_batch == 0) {
      ++batch;
      of_batch = counts[batch] = 0;
    }
    columns[columns_per_step * batch + place].of[in_batch / columns_per_step] = static_cast<Column>(column - tile.base);
    for (int i = 0; i < rows_per_tile; ++i) entries[i][place] = of_rows[i];
    if (place == columns_per_step - 1) end_step(in_batch / columns_per_step);
  };
  for (auto& of_row : entries) of_row.fill(-1);
  TileColumns<Value>(matrix, number).for_each([&](std::int32_t column, const auto& of_rows) {
    last = column;
    add(column, of_rows);
  });
  std::array<std::int64_t, rows_per_tile> none;
  none.fill(-1);
  while (seen % columns_per_batch != 0) add(last, none);
}

/// Writes an empty batch behind the last one.
template <std::floating_point Value>
void end_batches(BitmaskMatrix<Value>& to) {
  to.masks[to.batches] = {};
  to.counts[to.batches] = 0;
  for (int s = 0; s < columns_per_step; ++s) {
    if (to.narrow)
      to.narrow_columns[columns_per_step * to.batches + s] = {};
    else
      to.columns[columns_per_step * to.batches + s] = {};
  }
}

}  // namespace

template <std::floating_point Value>
BitmaskMatrix<Value> tiles_of(const CsrMatrix<Value>& matrix) {
  BitmaskMatrix<Value> to;
  to.rows = matrix.rows;
  to.nonzeros = matrix.nonzeros();
  to.tiles = Vector<BitmaskTile>(to.tile_count() + 1);
  bool narrow = true;
#pragma omp parallel for schedule(static) reduction(&& : narrow)
  for (std::int64_t tile = 0; tile < to.tile_count(); ++tile) {
    std::int32_t first = 0, last = 0, count = 0;
    TileColumns<Value>(matrix, tile).for_each([&](std::int32_t column, const auto&) {
      if (count++ == 0) first = column;
      last = column;
    });
    to.tiles[tile] = {matrix.row_offsets[rows_per_tile * tile], static_cast<std::int32_t>(batches_of(count)), first};
    narrow = narrow && last - first <= std::numeric_limits<std::uint16_t>::max();
  }
  to.narrow = narrow;
  for (std::int64_t tile = 0; tile < to.tile_count(); ++tile) {
    const std::int32_t batches = to.tiles[tile].first_batch;
    to.tiles[tile].first_batch = static_cast<std::int32_t>(to.batches);
    to.batches += batches;
    if (to.batches >= std::numeric_limits<std::int32_t>::max())
      throw std::invalid_argument("operator 'csr-bitmask' takes up to 34 thousand million columns of tiles");
  }
  to.tiles[to.tile_count()] = {to.nonzeros, static_cast<std::int32_t>(to.batches), 0};
  allocate_on(to, Device::host);
#pragma omp parallel for schedule(static)
  for (std::int64_t tile = 0; tile < to.tile_count(); ++tile) {
    const auto write = [&](auto* columns) {
      write_tile(matrix, tile, to.tiles[tile], to.masks.data(), to.counts.data(), columns, to.values.data());
    };
    if (to.narrow)
      write(to.narrow_columns.data());
    else
      write(to.columns.data());
  }
  end_batches(to);
  return to;
}

template <std::floating_point Value>
BitmaskMatrix<Value> bound_of_tiles(const CsrMatrix<Value>& lengths) {
  BitmaskMatrix<Value> to;
  to.rows = lengths.rows;
  to.nonzeros = lengths.nonzeros();
  for (std::int64_t first = 0; first < to.rows; first += rows_per_tile)
    to.batches +=
        batches_of(lengths.row_offsets[std::min(to.rows, first + rows_per_tile)] - lengths.row_offsets[first]);
  return to;
}

template <std::floating_point Value>
std::map<std::string, std::string> choice_of_tiles(const BitmaskMatrix<Value>& a) {
  const auto steps = static_cast<double>(std::max<std::int64_t>(1, steps_per_batch * a.batches));
  return {{"index", a.narrow ? "16" : "32"},
          {"entries_per_step", fmt::format("{:.1f}", static_cast<double>(a.nonzeros) / steps)}};
}

template BitmaskMatrix<double> tiles_of(const CsrMatrix<double>&);
template BitmaskMatrix<float> tiles_of(const CsrMatrix<float>&);
template BitmaskMatrix<double> bound_of_tiles(const CsrMatrix<double>&);
template BitmaskMatrix<float> bound_of_tiles(const CsrMatrix<float>&);
template std::map<std::string, std::string> choice_of_tiles(const BitmaskMatrix<double>&);
template std::map<std::string, std::string> choice_of_tiles(const BitmaskMatrix<float>&);

}  // namespace femcg::operators
