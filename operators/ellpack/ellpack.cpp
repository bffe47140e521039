// Stored: `width` values and 32-bit columns per row, width being the longest row's length, entry k of all rows before
// entry k + 1; ELLPACK-R has the rows' lengths too. A product moves width (sizeof(T) + 4) bytes per row, ELLPACK-R
// sizeof(T) + 4 a nonzero and 4 a row; both x and y once.
//
// Column by column would read and write y `width` times: a block of rows goes through all columns with its sums in the
// first cache. Rows are taken eight together, the doubles of a cache line; ELLPACK-R leaves such a group out where all
// of its rows have ended.

#include "operators/ellpack/ellpack.hpp"

#include <array>
#include <cassert>
#include <numeric>

#include "operators/backend/parallel_rows.hpp"
#include "operators/backend/simd.hpp"
#include "operators/ellpack/ellpack_matrix.hpp"
#include "operators/sparse/padding.hpp"
#include "operators/sparse/stored_diagonal.hpp"

namespace femcg::operators {

namespace {

constexpr std::int64_t group_rows = EllpackMatrix<double>::group_rows;
constexpr std::int64_t groups_per_block = rows_per_block / group_rows;

enum class Padding { multiplied, skipped };

template <std::floating_point T>
struct RowGroup {
  Quad<T> low{}, high{};
};

/// A number for each group of a block.
using GroupList = std::array<std::int32_t, groups_per_block>;

/// Leaves those of the first `count` active groups whose length exceeds k, and returns how many. Without branches:
/// which groups end where follows no pattern that a processor could predict.
std::int32_t keep_longer(std::int64_t k, const GroupList& lengths, GroupList& active, std::int32_t count) {
  std::int32_t kept = 0;
  for (std::int32_t i = 0; i < count; ++i) {
    const std::int32_t group = active[i];
    active[kept] = group;
    kept += lengths[group] > k ? 1 : 0;
  }
  return kept;
}

/// Padding repeats the row's last column (an empty row's own) with value 0: the product reads nothing new of x. The
/// threads that multiply a block fill it, which places its pages.
template <std::floating_point T>
void fill(const CsrMatrix<T>& matrix, EllpackMatrix<T>& to) {
  to.columns = Vector<std::int32_t>(to.entries());
  to.values = Vector<T>(to.entries());
  for_row_blocks(matrix.rows, EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    const std::int64_t end = last == matrix.rows ? to.stride : last;
    for (std::int64_t k = 0; k < to.width; ++k)
      for (std::int64_t row = first; row < end; ++row) {
        const Entry<T> entry = padded_entry(matrix, row, k);
        to.columns[k * to.stride + row] = entry.column;
        to.values[k * to.stride + row] = entry.value;
      }
  });
}

template <std::floating_point T, Padding padding>
class Ellpack final : public Operator<T> {
 public:
  explicit Ellpack(EllpackMatrix<T> a) : Operator<T>(a.rows, Device::host), a_(std::move(a)) {}

  void diagonal(Vector<T>& d) const override {
    assert(d.size() == this->size());
    for_row_blocks(this->size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        T sum = 0;  // padding adds zeros
        for (std::int64_t k = 0; k < a_.width; ++k)
          if (a_.columns[k * a_.stride + row] == row) sum += a_.values[k * a_.stride + row];
        d[row] = sum;
      }
    });
  }

  Footprint footprint() const override { return footprint_of(a_); }

 private:
  /// Entries of the longest row in each group of the block that starts at row `first`.
  GroupList group_lengths(std::int64_t first, std::int32_t groups) const {
    GroupList lengths;
    for (std::int32_t group = 0; group < groups; ++group) {
      const std::int32_t* of_rows = a_.lengths.data() + first + group * group_rows;
      lengths[group] = *std::max_element(of_rows, of_rows + group_rows);
    }
    return lengths;
  }

  void multiply_block(const T* x, T* y, std::int64_t first, std::int64_t last) const {
    const auto groups = static_cast<std::int32_t>((last - first + group_rows - 1) / group_rows);
    GroupList lengths, active;
    if constexpr (padding == Padding::skipped) lengths = group_lengths(first, groups);
    std::iota(active.begin(), active.begin() + groups, 0);
    std::int32_t count = groups;
    std::array<RowGroup<T>, groups_per_block> sums{};
    for (std::int64_t k = 0; k < a_.width; ++k) {
      if constexpr (padding == Padding::skipped) count = keep_longer(k, lengths, active, count);
      const T* values = a_.values.data() + k * a_.stride + first;
      const std::int32_t* columns = a_.columns.data() + k * a_.stride + first;
      // The next entries of the same rows; hardware would prefetch this column's of the next block.
      const std::int64_t ahead = k + 1 < a_.width ? a_.stride : 0;
      for (std::int32_t i = 0; i < count; ++i) {
        const std::int64_t row = active[i] * group_rows;
        __builtin_prefetch(values + row + ahead);
        __builtin_prefetch(columns + row + ahead);
        RowGroup<T>& sum = sums[active[i]];
        sum.low += load<4>(values + row) * pick_four(x, columns + row);
        sum.high += load<4>(values + row + 4) * pick_four(x, columns + row + 4);
      }
    }
    std::memcpy(y + first, sums.data(), static_cast<std::size_t>(last - first) * sizeof(T));
  }

  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    const T* from = x.data();
    T* to = y.data();
    const double sum = sum_over_row_blocks(this->size(), EqualRows{}, [=, this](std::int64_t first, std::int64_t last) {
      multiply_block(from, to, first, last);
      return energy != nullptr ? dot_of_rows(from, to, first, last) : 0.0;
    });
    if (energy != nullptr) *energy->data() = sum;
  }

  EllpackMatrix<T> a_;
};

template <std::floating_point T, Padding padding>
std::unique_ptr<Operator<T>> make(const Ingredients<T>& from) {
  EllpackMatrix<T> a = lists_of_ellpack(*from.matrix, padding == Padding::skipped);
  if (from.device == Device::cuda) return make_ellpack_cuda(a, *from.matrix, diagonal_of(*from.matrix));
  fill(*from.matrix, a);
  return std::make_unique<Ellpack<T, padding>>(std::move(a));
}

}  // namespace

template <std::floating_point T>
EllpackMatrix<T> lists_of_ellpack(const CsrMatrix<T>& matrix, bool skips_padding) {
  EllpackMatrix<T> to;
  to.rows = matrix.rows;
  to.nonzeros = matrix.nonzeros();
  to.width = longest_row(matrix);
  to.stride = (std::int64_t{matrix.rows} + group_rows - 1) / group_rows * group_rows;
  check_padding(matrix, to.width, to.entries(), "ELLPACK");
  if (!skips_padding) return to;
  to.lengths = Vector<std::int32_t>(to.stride);
  for (std::int64_t row = 0; row < to.stride; ++row)
    to.lengths[row] =
        row < matrix.rows ? static_cast<std::int32_t>(matrix.row_offsets[row + 1] - matrix.row_offsets[row]) : 0;
  return to;
}

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_ellpack(const Ingredients<T>& from, const Options&) {
  return make<T, Padding::multiplied>(from);
}

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_ellpack_r(const Ingredients<T>& from, const Options&) {
  return make<T, Padding::skipped>(from);
}

template <std::floating_point T>
OperatorBytes bytes_of_ellpack(const Extent<T>& of, const Options&) {
  return converted_bytes(of, footprint_of(lists_of_ellpack(*of.matrix, false)));
}

template <std::floating_point T>
OperatorBytes bytes_of_ellpack_r(const Extent<T>& of, const Options&) {
  return converted_bytes(of, footprint_of(lists_of_ellpack(*of.matrix, true)));
}

template std::unique_ptr<Operator<double>> make_ellpack(const Ingredients<double>&, const Options&);
template std::unique_ptr<Operator<float>> make_ellpack(const Ingredients<float>&, const Options&);
template std::unique_ptr<Operator<double>> make_ellpack_r(const Ingredients<double>&, const Options&);
template std::unique_ptr<Operator<float>> make_ellpack_r(const Ingredients<float>&, const Options&);
template OperatorBytes bytes_of_ellpack(const Extent<double>&, const Options&);
template OperatorBytes bytes_of_ellpack(const Extent<float>&, const Options&);
template OperatorBytes bytes_of_ellpack_r(const Extent<double>&, const Options&);
template OperatorBytes bytes_of_ellpack_r(const Extent<float>&, const Options&);

}  // namespace femcg::operators
