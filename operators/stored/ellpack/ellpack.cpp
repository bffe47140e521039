// Stored: `width` values and 32-bit columns per row, width being the longest row's length, entry k of all rows before
// entry k + 1; in ELLPACK-R also the row lengths. A product moves width (sizeof(T) + 4) bytes per row, in ELLPACK-R
// sizeof(T) + 4 a nonzero and 4 a row; and x and y once.
//
// Column by column would read and write y `width` times: instead a block of rows goes through all columns with its sums
// in the L1 cache. Rows are processed in groups of eight, the doubles of a cache line; ELLPACK-R skips a group once all
// of its rows have ended.

#include "operators/stored/ellpack/ellpack.hpp"

#include <array>
#include <cstring>
#include <numeric>

#include "operators/backend/threads/simd.hpp"
#include "operators/stored/common/padding.hpp"
#include "operators/stored/common/stored_description.hpp"

namespace femcg::operators {

namespace {

constexpr std::int64_t group_rows = Ellpack<double>::group_rows;
constexpr std::int64_t groups_per_block = rows_per_block / group_rows;

template <std::floating_point T>
struct RowGroup {
  Quad<T> low{}, high{};
};

/// A value for each group of a block.
using GroupList = std::array<std::int32_t, groups_per_block>;

/// Keeps those of the first `count` active groups whose length exceeds k; returns their number. Branch-free, since the
/// ends of groups follow no pattern that a processor could predict.
std::int32_t keep_longer(std::int64_t k, const GroupList& lengths, GroupList& active, std::int32_t count) {
  std::int32_t kept = 0;
  for (std::int32_t i = 0; i < count; ++i) {
    const std::int32_t group = active[i];
    active[kept] = group;
    kept += lengths[group] > k ? 1 : 0;
  }
  return kept;
}

/// Length of the longest row in each group of a block with these row lengths.
GroupList group_lengths(const std::int32_t* of_rows, std::int32_t groups) {
  GroupList lengths;
  for (std::int32_t group = 0; group < groups; ++group, of_rows += group_rows)
    lengths[group] = *std::max_element(of_rows, of_rows + group_rows);
  return lengths;
}

}  // namespace

template <std::floating_point T, Padding padding>
EllpackFormat<T, padding>::EllpackFormat(const CsrMatrix<T>& matrix, Device, const Options&)
    : rows(matrix.rows),
      nonzeros(matrix.nonzeros()),
      width(longest_row(matrix)),
      stride((std::int64_t{rows} + group_rows - 1) / group_rows * group_rows),
      entries(width * stride) {
  check_padding(matrix, width, entries, "ELLPACK");
  if (padding == Padding::multiplied) return;
  lengths = Vector<std::int32_t>(stride);
  const Entries<T> source = entries_of(matrix);
  for (std::int64_t row = 0; row < stride; ++row) lengths[row] = static_cast<std::int32_t>(source.length(row));
}

template <std::floating_point T, Padding padding>
double EllpackFormat<T, padding>::multiply_rows(const T* x, T* y, std::int64_t first, std::int64_t last,
                                                bool with_energy) const {
  const auto groups = static_cast<std::int32_t>((last - first + group_rows - 1) / group_rows);
  GroupList longest, active;
  if constexpr (padding == Padding::skipped) longest = group_lengths(lengths.data() + first, groups);
  std::iota(active.begin(), active.begin() + groups, 0);
  std::int32_t count = groups;
  std::array<RowGroup<T>, groups_per_block> sums{};
  for (std::int64_t k = 0; k < width; ++k) {
    if constexpr (padding == Padding::skipped) count = keep_longer(k, longest, active, count);
    const T* of_column = values.data() + k * stride + first;
    const std::int32_t* at = columns.data() + k * stride + first;
    // Prefetches the next entries of the same rows; hardware would prefetch this column's entries of the next block.
    const std::int64_t ahead = k + 1 < width ? stride : 0;
    for (std::int32_t i = 0; i < count; ++i) {
      const std::int64_t row = active[i] * group_rows;
      __builtin_prefetch(of_column + row + ahead);
      __builtin_prefetch(at + row + ahead);
      RowGroup<T>& sum = sums[active[i]];
      sum.low += load<4>(of_column + row) * pick_four(x, at + row);
      sum.high += load<4>(of_column + row + 4) * pick_four(x, at + row + 4);
    }
  }
  std::memcpy(y + first, sums.data(), static_cast<std::size_t>(last - first) * sizeof(T));
  return with_energy ? dot_of_rows(x, y, first, last) : 0.0;
}

OperatorDescription ellpack() {
  return describe_stored<Ellpack>("rows padded to the longest, column by column", "Bell & Garland 2009");
}
OperatorDescription ellpack_r() {
  return describe_stored<EllpackR>("ELLPACK that skips the padding", "Kreutzer et al. 2012");
}

// Used by the GPU's version.
template struct EllpackFormat<double, Padding::multiplied>;
template struct EllpackFormat<float, Padding::multiplied>;
template struct EllpackFormat<double, Padding::skipped>;
template struct EllpackFormat<float, Padding::skipped>;

}  // namespace femcg::operators
