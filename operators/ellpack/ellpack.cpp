// Stored: `width` values and 32-bit columns a row, width being the longest row's length, entry k of all rows before
// entry k + 1; ELLPACK-R has the rows' lengths too. A product moves width (sizeof(T) + 4) bytes a row, ELLPACK-R
// sizeof(T) + 4 a nonzero and 4 a row; both x and y once.
//
// Column by column would read and write y `width` times: a block of rows goes through all columns with its sums in the
// first cache. Rows are taken eight together, the doubles of a cache line; ELLPACK-R leaves such a group out where all
// of its rows have ended.

#include "operators/ellpack/ellpack.hpp"

#include <fmt/format.h>

#include <array>
#include <cassert>
#include <numeric>
#include <stdexcept>

#include "operators/ellpack/ellpack_cuda.hpp"
#include "operators/quad.hpp"
#include "operators/row_blocks.hpp"
#include "operators/stored_footprint.hpp"

namespace femcg::operators {

namespace {

constexpr std::int64_t group_rows = 8;
constexpr std::int64_t groups_a_block = rows_a_block / group_rows;

enum class Padding { multiplied, skipped };

template <std::floating_point T>
struct RowGroup {
  Quad<T> low{}, high{};
};

/// A number for each group of a block.
using GroupList = std::array<std::int32_t, groups_a_block>;

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

std::int64_t longest_row(std::int64_t rows, const std::int64_t* offsets) {
  std::int64_t longest = 0;
#pragma omp parallel for schedule(static) reduction(max : longest) if (rows > rows_a_block)
  for (std::int64_t row = 0; row < rows; ++row) longest = std::max(longest, offsets[row + 1] - offsets[row]);
  return longest;
}

void check_padding(std::int64_t rows, std::int64_t width, std::int64_t nonzeros, std::int64_t entry_bytes) {
  constexpr double largest_ratio = 4, gibibyte = 1 << 30;
  const double entries = static_cast<double>(rows) * static_cast<double>(width);
  const double padding_bytes = (entries - static_cast<double>(nonzeros)) * static_cast<double>(entry_bytes);
  if (padding_bytes <= gibibyte || entries <= largest_ratio * static_cast<double>(nonzeros)) return;
  throw std::invalid_argument(fmt::format(
      "ELLPACK would pad every row to {} entries, {:.1f} GiB in all and {:.1f} times the nonzeros; "
      "operator 'sell' pads a few rows at a time",
      width, entries * static_cast<double>(entry_bytes) / gibibyte, entries / static_cast<double>(nonzeros)));
}

template <std::floating_point T, Padding padding>
class Ellpack final : public Operator<T> {
 public:
  explicit Ellpack(const CsrMatrix<T>& matrix)
      : Operator<T>(matrix.rows, Device::host),
        nonzeros_(matrix.nonzeros()),
        width_(longest_row(matrix.rows, matrix.row_offsets.data())),
        stride_((std::int64_t{matrix.rows} + group_rows - 1) / group_rows * group_rows) {
    check_padding(matrix.rows, width_, nonzeros_, sizeof(T) + sizeof(std::int32_t));
    values_ = Vector<T>(stride_ * width_);
    columns_ = Vector<std::int32_t>(stride_ * width_);
    if constexpr (padding == Padding::skipped) lengths_ = Vector<std::int32_t>(stride_);
    // The threads that multiply a block fill it, which places its pages.
    for_row_blocks(matrix.rows, EqualRows{}, [&](std::int64_t first, std::int64_t last) {
      const std::int64_t end = last == matrix.rows ? stride_ : last;
      for (std::int64_t row = first; row < end; ++row) fill_row(matrix, row);
    });
  }

  void diagonal(Vector<T>& d) const override {
    assert(d.size() == this->size());
    for_row_blocks(this->size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        T sum = 0;  // padding adds zeros
        for (std::int64_t k = 0; k < width_; ++k)
          if (columns_[k * stride_ + row] == row) sum += values_[k * stride_ + row];
        d[row] = sum;
      }
    });
  }

  /// For a GPU's copy.
  EllpackArrays<T> arrays() const {
    return {nonzeros_, width_, stride_, &values_, &columns_, padding == Padding::skipped ? &lengths_ : nullptr};
  }

  Footprint footprint() const override {
    constexpr std::int64_t entry_bytes = sizeof(T) + sizeof(std::int32_t);
    const std::int64_t stored = values_.bytes() + columns_.bytes() + lengths_.bytes();
    const std::int64_t read = padding == Padding::skipped ? nonzeros_ * entry_bytes + lengths_.bytes() : stored;
    return stored_footprint<T>(this->size(), nonzeros_, values_.size(), stored, read);
  }

 private:
  /// Padding repeats the row's last column (an empty row's own) with value 0: the product reads nothing new of x.
  void fill_row(const CsrMatrix<T>& matrix, std::int64_t row) {
    const bool exists = row < matrix.rows;
    const std::int64_t begin = exists ? matrix.row_offsets[row] : 0;
    const std::int64_t length = exists ? matrix.row_offsets[row + 1] - begin : 0;
    const std::int32_t pad = length > 0 ? matrix.columns[begin + length - 1]
                                        : static_cast<std::int32_t>(std::min<std::int64_t>(row, matrix.rows - 1));
    for (std::int64_t k = 0; k < width_; ++k) {
      values_[k * stride_ + row] = k < length ? matrix.values[begin + k] : T(0);
      columns_[k * stride_ + row] = k < length ? matrix.columns[begin + k] : pad;
    }
    if constexpr (padding == Padding::skipped) lengths_[row] = static_cast<std::int32_t>(length);
  }

  /// Entries of the longest row in each group of the block that starts at row `first`.
  GroupList group_lengths(std::int64_t first, std::int32_t groups) const {
    GroupList lengths;
    for (std::int32_t group = 0; group < groups; ++group) {
      const std::int32_t* of_rows = lengths_.data() + first + group * group_rows;
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
    std::array<RowGroup<T>, groups_a_block> sums{};
    for (std::int64_t k = 0; k < width_; ++k) {
      if constexpr (padding == Padding::skipped) count = keep_longer(k, lengths, active, count);
      const T* values = values_.data() + k * stride_ + first;
      const std::int32_t* columns = columns_.data() + k * stride_ + first;
      // The next entries of the same rows; hardware would prefetch this column's of the next block.
      const std::int64_t ahead = k + 1 < width_ ? stride_ : 0;
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

  std::int64_t nonzeros_, width_;
  std::int64_t stride_;  ///< rows, rounded up to whole groups
  Vector<T> values_;     ///< width x stride
  Vector<std::int32_t> columns_;
  Vector<std::int32_t> lengths_;  ///< ELLPACK-R only
};

template <std::floating_point T, Padding padding>
std::unique_ptr<Operator<T>> make(const Ingredients<T>& from) {
  auto on_host = std::make_unique<Ellpack<T, padding>>(*from.matrix);
  if (from.device == Device::host) return on_host;
  return make_ellpack_cuda(*from.matrix, on_host->arrays());
}

}  // namespace

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_ellpack(const Ingredients<T>& from, const Options&) {
  return make<T, Padding::multiplied>(from);
}

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_ellpack_r(const Ingredients<T>& from, const Options&) {
  return make<T, Padding::skipped>(from);
}

namespace {

template <Padding padding, std::floating_point T>
OperatorBytes bytes_of_padded(const Extent<T>& of) {
  constexpr std::int64_t entry_bytes = sizeof(T) + sizeof(std::int32_t), length_bytes = sizeof(std::int32_t);
  const std::int64_t rows = of.matrix->rows, stride = (rows + group_rows - 1) / group_rows * group_rows;
  const std::int64_t width = longest_row(rows, of.matrix->row_offsets.data());
  check_padding(rows, width, of.matrix->nonzeros(), entry_bytes);
  OperatorBytes bytes;
  bytes.stored = stride * (width * entry_bytes + (padding == Padding::skipped ? length_bytes : 0));
  if (of.device == Device::cuda) bytes.making_on_host = bytes.stored;
  return bytes;
}

}  // namespace

template <std::floating_point T>
OperatorBytes bytes_of_ellpack(const Extent<T>& of, const Options&) {
  return bytes_of_padded<Padding::multiplied>(of);
}

template <std::floating_point T>
OperatorBytes bytes_of_ellpack_r(const Extent<T>& of, const Options&) {
  return bytes_of_padded<Padding::skipped>(of);
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
