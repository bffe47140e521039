// Stored: values and 32-bit columns, diagonal by diagonal, rows sorted by length; a 64-bit offset per diagonal; the
// 32-bit length and number of each row. A product moves sizeof(T) + 4 bytes per nonzero, 8 a row, and x and y once.
//
// Diagonal by diagonal would read and write y as often as the longest row has entries: instead a block of rows goes
// through all of its diagonals with its sums in the L1 cache. Threads take blocks with about equal entries.

#include "operators/stored/jad/jad.hpp"

#include <array>
#include <numeric>

#include "operators/stored/common/multi_vector_products.hpp"
#include "operators/stored/common/padding.hpp"
#include "operators/stored/common/stored_description.hpp"

namespace femcg::operators {

namespace {

/// Diagonals of at least this length begin at multiples of `alignment` entries, so that 32 threads of a GPU load whole
/// sectors; for shorter ones the gaps would cost more than they save.
constexpr std::int64_t long_diagonal = 1024, alignment = 32;

/// Number of rows longer than k, for every k below the longest row's length.
template <std::floating_point T>
std::vector<std::int64_t> count_longer(const CsrMatrix<T>& matrix, std::int64_t longest) {
  std::vector<std::int64_t> longer(static_cast<std::size_t>(longest));
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    const std::int64_t length = matrix.row_offsets[row + 1] - matrix.row_offsets[row];
    if (length > 0) ++longer[static_cast<std::size_t>(length - 1)];
  }
  for (std::size_t k = longer.size(); k-- > 1;) longer[k - 1] += longer[k];
  return longer;
}

/// Sorts the rows by length, with a counting sort.
template <std::floating_point T>
void place_rows(const CsrMatrix<T>& matrix, const std::vector<std::int64_t>& longer, JaggedDiagonals<T>& to) {
  std::vector<std::int64_t> next(longer);  // next position for a row of length k; rows of length 0 come last
  next.push_back(0);
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    const std::int64_t length = matrix.row_offsets[row + 1] - matrix.row_offsets[row];
    const std::int64_t position = next[static_cast<std::size_t>(length)]++;
    to.places[position] = static_cast<std::int32_t>(row);
    to.lengths[position] = static_cast<std::int32_t>(length);
  }
}

/// sums[i] = product of the row at position first + i with x.
template <std::floating_point T>
void multiply_block(const JaggedDiagonals<T>& a, const T* x, T* sums, std::int64_t first, std::int64_t last) {
  std::fill(sums, sums + (last - first), T(0));
  std::int64_t count = last - first;
  const std::int32_t longest = a.lengths[first];
  for (std::int32_t k = 0; k < longest; ++k) {
    while (a.lengths[first + count - 1] <= k) --count;
    const std::int64_t ahead = k + 1 < longest ? a.offsets[k + 1] - a.offsets[k] : 0;
    const std::int64_t begin = a.offsets[k] + first;
    add_products(a.values.data() + begin, a.columns.data() + begin, x, sums, count, ahead);
  }
}

/// Sum of sums[i] x[places[i]] over i < count, in double precision.
template <std::floating_point T>
double dot_of_places(const T* sums, const T* x, const std::int32_t* places, std::int64_t count) {
  Quad<double> four{};
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) four += widen<T>(load<4>(sums + i)) * widen<T>(pick_four(x, places + i));
  for (; i < count; ++i) four[0] += static_cast<double>(sums[i]) * static_cast<double>(x[places[i]]);
  return (four[0] + four[1]) + (four[2] + four[3]);
}

}  // namespace

template <std::floating_point T>
JaggedDiagonals<T>::JaggedDiagonals(const CsrMatrix<T>& matrix, Device, const Options&)
    : rows(matrix.rows),
      nonzeros(matrix.nonzeros()),
      width(longest_row(matrix)),
      offsets(width),
      lengths(rows),
      places(rows),
      entries_before_block{0} {
  const std::vector<std::int64_t> longer = count_longer(matrix, width);
  place_rows(matrix, longer, *this);
  for (std::int64_t k = 0; k < width; ++k) {
    const std::int64_t count = longer[static_cast<std::size_t>(k)];
    offsets[k] = count >= long_diagonal ? (entries + alignment - 1) / alignment * alignment : entries;
    entries = offsets[k] + count;
  }
  for (std::int64_t first = 0; first < rows; first += rows_per_block) {
    const std::int64_t last = std::min<std::int64_t>(rows, first + rows_per_block);
    entries_before_block.push_back(
        std::accumulate(lengths.data() + first, lengths.data() + last, entries_before_block.back()));
  }
}

template <std::floating_point T>
double JaggedDiagonals<T>::multiply_rows(const T* x, T* y, std::int64_t first, std::int64_t last,
                                         bool with_energy) const {
  std::array<T, rows_per_block> sums;
  multiply_block(*this, x, sums.data(), first, last);
  const std::int32_t* of_block = places.data() + first;
  for (std::int64_t i = 0; i < last - first; ++i) y[of_block[i]] = sums[i];
  return with_energy ? dot_of_places(sums.data(), x, of_block, last - first) : 0.0;
}

OperatorDescription jad() {
  return describe_stored<JaggedDiagonals>("jagged diagonals: rows sorted by length, column by column, no padding",
                                          "Li & Saad 2013; Wang et al. 2017");
}

// Used by the GPU's version.
template struct JaggedDiagonals<double>;
template struct JaggedDiagonals<float>;

}  // namespace femcg::operators
