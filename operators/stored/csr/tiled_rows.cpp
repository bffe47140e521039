#include "operators/stored/csr/tiled_rows.hpp"

#include <algorithm>
#include <atomic>

namespace femcg::operators {

namespace {

constexpr std::int64_t reach = std::numeric_limits<std::uint16_t>::max();

}  // namespace

template <std::floating_point T, std::floating_point Value>
TiledRows<T, Value>::TiledRows(const CsrMatrix<Value>& matrix, Device, const Options& given)
    : rows(matrix.rows), nonzeros(matrix.nonzeros()), entries(nonzeros) {
  const auto index = given.find("index");
  narrow = index == given.end() || index->second != "32";
  wide = index == given.end() || index->second != "16";
  is_narrow = !wide;
  const std::vector<streamed::Tile> cut = streamed::cut_into_tiles<T>(matrix);
  tile_count = std::ssize(cut) - 1;
  ends = streamed::ends_of_rows<T>(matrix, cut);
  tiles = Vector<streamed::Tile>(tile_count + 1);
  std::ranges::copy(cut, tiles.data());
}

/// Bases are so low that base plus any narrow column, also of another tile, is a column of x: a run may begin with
/// entries of the previous tile.
template <std::floating_point T, std::floating_point Value>
void TiledRows<T, Value>::look_at(const Entries<Value>& source, std::int32_t column_count) {
  if (!narrow) return;
  const auto highest_base = static_cast<std::int32_t>(std::max<std::int64_t>(column_count - 1 - reach, 0));
  std::atomic<bool> fits = true;
  for_row_blocks(tile_count, EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t t = first; t < last; ++t) {
      std::int32_t least = highest_base, largest = 0;
      for (std::int64_t k = tiles[t].first_entry; k < tiles[t + 1].first_entry; ++k) {
        least = std::min(least, source.columns[k]);
        largest = std::max(largest, source.columns[k]);
      }
      tiles[t].base = least;
      if (largest - least > reach) fits = false;
    }
  });
  if (!fits && !wide) throw columns_do_not_fit();
  is_narrow = fits;
  if (!fits)
    for (streamed::Tile& tile : tiles.span()) tile.base = 0;
}

template <std::floating_point T, std::floating_point Value>
void TiledRows<T, Value>::fill(const Entries<Value>& source) {
  for_row_blocks(tile_count, EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t t = first; t < last; ++t) {
      const std::int64_t begin = tiles[t].first_entry, end = tiles[t + 1].first_entry;
      std::copy(source.values + begin, source.values + end, values.data() + begin);
      for (std::int64_t k = begin; k < end; ++k)
        if (is_narrow)
          narrow_columns[k] = static_cast<std::uint16_t>(source.columns[k] - tiles[t].base);
        else
          columns[k] = source.columns[k];
    }
  });
  for (std::int64_t k = nonzeros; k < nonzeros + streamed::run_padding; ++k) {
    values[k] = 0;
    if (is_narrow)
      narrow_columns[k] = 0;
    else
      columns[k] = 0;
  }
}

template struct TiledRows<double>;
template struct TiledRows<float>;
template struct TiledRows<double, float>;

}  // namespace femcg::operators
