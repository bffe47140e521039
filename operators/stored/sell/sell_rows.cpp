#include "operators/stored/sell/sell_rows.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "operators/stored/assembled/narrow_columns.hpp"
#include "operators/stored/sell/sell_shape.hpp"

namespace femcg::operators {

template <std::floating_point T>
SellRows<T>::SellRows(const CsrMatrix<T>& matrix, Device device, const Options& given) {
  const SellShape shape = chosen_sell_shape(matrix, device, given);
  a = lists_of_sell(matrix, shape.chunk_rows, shape.sigma);
  rows = matrix.rows;
  nonzeros = a.nonzeros;
  entries = a.entries;
  narrow = shape.index != "32";
  wide = shape.index != "16";
  is_narrow = !wide;
  if (is_narrow) bases = Vector<std::int32_t>(a.chunks());
}

/// Options with the window chosen by all rows; sigma = all means all rows of a chunk.
template <std::floating_point T>
Options SellRows<T>::options_of_chunks(const CsrMatrix<T>& matrix, Options given) {
  const SellShape shape = chosen_sell_shape(matrix, Device::cuda, given);
  given["C"] = std::to_string(shape.chunk_rows);
  if (const auto sigma = given.find("sigma"); sigma == given.end() || sigma->second != "all")
    given["sigma"] = std::to_string(shape.sigma);
  return given;
}

/// Padding is included, since it has the column of another entry.
template <std::floating_point T>
void SellRows<T>::look_at(const Entries<T>& source, std::int32_t column_count) {
  constexpr std::int64_t reach = std::numeric_limits<std::uint16_t>::max();
  if (!narrow) return;
  const auto highest_base = static_cast<std::int32_t>(std::max<std::int64_t>(column_count - 1 - reach, 0));
  const auto map = positions(source);
  bases = Vector<std::int32_t>(a.chunks());
  std::atomic<bool> fits = true;
  for_row_blocks(a.chunks(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t slice = first; slice < last; ++slice) {
      std::int32_t least = highest_base, largest = 0;
      for (std::int64_t position = slice * a.chunk_rows; position < (slice + 1) * a.chunk_rows; ++position)
        for (std::int64_t k = 0; k < map.count(position); ++k) {
          const std::int64_t from = map.from(position, k);
          const std::int32_t column = source.columns[from < 0 ? ~from : from];
          least = std::min(least, column);
          largest = std::max(largest, column);
        }
      bases[slice] = least;
      if (largest - least > reach) fits = false;
    }
  });
  if (!fits && !wide) throw columns_do_not_fit();
  const std::int64_t saved = 2 * entries - bases.bytes();  // negative or 0 if rows are empty
  is_narrow = fits && (!wide || saved > 2 * array_alignment);
  if (!is_narrow) bases = {};
}

template <std::floating_point T>
void SellRows<T>::fill(const Entries<T>& source) {
  const auto map = positions(source);
  const InPairs pairs{a.chunk_rows};
  for_row_blocks(a.chunks() * a.chunk_rows, EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t position = first; position < last; ++position) {
      const std::int64_t slice = position / a.chunk_rows, count = map.count(position);
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t from = map.from(position, k), to = map.to(position, k);
        const std::int32_t column = source.columns[from < 0 ? ~from : from];
        a.values[to] = from < 0 ? T(0) : source.values[from];
        if (is_narrow)
          narrow_columns[pairs.place(a.offsets[slice], position % a.chunk_rows, k, count)] =
              static_cast<std::uint16_t>(column - bases[slice]);
        else
          a.columns[to] = column;
      }
    }
  });
}

template struct SellRows<double>;
template struct SellRows<float>;

}  // namespace femcg::operators
