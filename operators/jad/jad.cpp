// Stored: values and 32-bit columns, diagonal by diagonal, rows sorted by length; a 64-bit offset a diagonal; the
// 32-bit length and place of each row. A product moves sizeof(T) + 4 bytes per nonzero, 8 a row, and x and y once.
//
// Diagonal by diagonal would read and write y as often as the longest row has entries: a block of rows goes through all
// of its diagonals with its sums in the L1 cache. Threads share blocks by entries.

#include "operators/jad/jad.hpp"

#include <array>
#include <cassert>

#include "operators/backend/parallel_rows.hpp"
#include "operators/jad/jad_matrix.hpp"
#include "operators/sparse/column_products.hpp"
#include "operators/sparse/padding.hpp"
#include "operators/sparse/stored_diagonal.hpp"

namespace femcg::operators {

namespace {

/// A diagonal that is so long begins at a multiple of `alignment` entries, so that 32 threads of a GPU read whole
/// sectors of memory; for a short one that would cost more than it saves.
constexpr std::int64_t long_diagonal = 1024, alignment = 32;

/// How many rows are longer than k, for every k below the longest.
template <std::floating_point T>
std::vector<std::int64_t> count_longer(const CsrMatrix<T>& matrix) {
  std::vector<std::int64_t> longer(static_cast<std::size_t>(longest_row(matrix)));
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    const std::int64_t length = matrix.row_offsets[row + 1] - matrix.row_offsets[row];
    if (length > 0) ++longer[static_cast<std::size_t>(length - 1)];
  }
  for (std::size_t k = longer.size(); k-- > 1;) longer[k - 1] += longer[k];
  return longer;
}

/// Sorts the rows by counting.
template <std::floating_point T>
void place_rows(const CsrMatrix<T>& matrix, const std::vector<std::int64_t>& longer, JaggedDiagonals<T>& to) {
  std::vector<std::int64_t> next(longer);  // the next position for a row of length k; those of length 0 come last
  next.push_back(0);
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    const std::int64_t length = matrix.row_offsets[row + 1] - matrix.row_offsets[row];
    const std::int64_t position = next[static_cast<std::size_t>(length)]++;
    to.places[position] = static_cast<std::int32_t>(row);
    to.lengths[position] = static_cast<std::int32_t>(length);
  }
}

/// Moves the entries to their places; the gaps before long diagonals are never read.
template <std::floating_point T>
void fill(const CsrMatrix<T>& matrix, JaggedDiagonals<T>& to) {
  to.columns = Vector<std::int32_t>(to.entries);
  to.values = Vector<T>(to.entries);
  for_row_blocks(matrix.rows, EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    std::int64_t end_of_diagonal = last;
    for (std::int32_t k = 0; k < to.lengths[first]; ++k) {
      while (to.lengths[end_of_diagonal - 1] <= k) --end_of_diagonal;
      for (std::int64_t position = first; position < end_of_diagonal; ++position) {
        const std::int64_t from = matrix.row_offsets[to.places[position]] + k;
        to.columns[to.offsets[k] + position] = matrix.columns[from];
        to.values[to.offsets[k] + position] = matrix.values[from];
      }
    }
  });
}

/// sums[i] is the product of the row at position first + i with x.
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

/// sum of sums[i] x[places[i]] over i < count, in double precision.
template <std::floating_point T>
double dot_of_places(const T* sums, const T* x, const std::int32_t* places, std::int64_t count) {
  Quad<double> four{};
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) four += widen<T>(load<4>(sums + i)) * widen<T>(pick_four(x, places + i));
  for (; i < count; ++i) four[0] += static_cast<double>(sums[i]) * static_cast<double>(x[places[i]]);
  return (four[0] + four[1]) + (four[2] + four[3]);
}

template <std::floating_point T>
class Jad final : public Operator<T> {
 public:
  explicit Jad(JaggedDiagonals<T> a) : Operator<T>(a.rows, Device::host), a_(std::move(a)) {
    entries_before_block_.push_back(0);
    for (std::int64_t first = 0; first < a_.rows; first += rows_per_block) {
      std::int64_t entries = entries_before_block_.back();
      const std::int64_t last = std::min<std::int64_t>(a_.rows, first + rows_per_block);
      for (std::int64_t position = first; position < last; ++position) entries += a_.lengths[position];
      entries_before_block_.push_back(entries);
    }
  }

  void diagonal(Vector<T>& d) const override {
    assert(d.size() == this->size());
    for_row_blocks(this->size(), entries_before(), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t position = first; position < last; ++position) {
        const std::int32_t row = a_.places[position];
        d[row] = 0;
        for (std::int32_t k = 0; k < a_.lengths[position]; ++k)
          if (a_.columns[a_.offsets[k] + position] == row) d[row] = a_.values[a_.offsets[k] + position];
      }
    });
  }

  Footprint footprint() const override { return footprint_of(a_); }

 private:
  auto entries_before() const {
    return [this](std::int64_t row) {
      return entries_before_block_[static_cast<std::size_t>((row + rows_per_block - 1) / rows_per_block)];
    };
  }

  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    const T* from = x.data();
    T* to = y.data();
    const auto rows_times_vector = [=, this](std::int64_t first, std::int64_t last) {
      std::array<T, rows_per_block> sums;
      multiply_block(a_, from, sums.data(), first, last);
      const std::int32_t* places = a_.places.data() + first;
      for (std::int64_t i = 0; i < last - first; ++i) to[places[i]] = sums[i];
      return energy != nullptr ? dot_of_places(sums.data(), from, places, last - first) : 0.0;
    };
    const double sum = sum_over_row_blocks(this->size(), entries_before(), rows_times_vector);
    if (energy != nullptr) *energy->data() = sum;
  }

  JaggedDiagonals<T> a_;
  std::vector<std::int64_t> entries_before_block_;
};

}  // namespace

template <std::floating_point T>
JaggedDiagonals<T> lists_of_jagged_diagonals(const CsrMatrix<T>& matrix) {
  const std::vector<std::int64_t> longer = count_longer(matrix);
  const auto width = static_cast<std::int64_t>(longer.size());
  JaggedDiagonals<T> to;
  to.rows = matrix.rows;
  to.nonzeros = matrix.nonzeros();
  to.offsets = Vector<std::int64_t>(width);
  to.lengths = Vector<std::int32_t>(matrix.rows);
  to.places = Vector<std::int32_t>(matrix.rows);
  place_rows(matrix, longer, to);
  for (std::int64_t k = 0; k < width; ++k) {
    const std::int64_t count = longer[static_cast<std::size_t>(k)];
    to.offsets[k] = count >= long_diagonal ? (to.entries + alignment - 1) / alignment * alignment : to.entries;
    to.entries = to.offsets[k] + count;
  }
  return to;
}

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_jad(const Ingredients<T>& from, const Options&) {
  JaggedDiagonals<T> a = lists_of_jagged_diagonals(*from.matrix);
  if (from.device == Device::cuda) return make_jad_cuda(a, *from.matrix, diagonal_of(*from.matrix));
  fill(*from.matrix, a);
  return std::make_unique<Jad<T>>(std::move(a));
}

template <std::floating_point T>
OperatorBytes bytes_of_jad(const Extent<T>& of, const Options&) {
  return converted_bytes(of, footprint_of(lists_of_jagged_diagonals(*of.matrix)));
}

template std::unique_ptr<Operator<double>> make_jad(const Ingredients<double>&, const Options&);
template std::unique_ptr<Operator<float>> make_jad(const Ingredients<float>&, const Options&);
template OperatorBytes bytes_of_jad(const Extent<double>&, const Options&);
template OperatorBytes bytes_of_jad(const Extent<float>&, const Options&);

}  // namespace femcg::operators
