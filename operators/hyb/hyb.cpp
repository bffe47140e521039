// Stored: `width` values and 32-bit columns per row, entry k of all rows before entry k + 1; the rest row by row, with
// the row and a 64-bit offset for every row that has a rest. A product moves sizeof(T) + 4 bytes per entry, the padding
// included, 12 a row that has a rest, and x and y once.
//
// A block of rows goes through all columns of the padded part with its sums in the L1 cache, then through its rest.

#include "operators/hyb/hyb.hpp"

#include <array>
#include <cassert>

#include "operators/backend/parallel_rows.hpp"
#include "operators/hyb/hyb_matrix.hpp"
#include "operators/options.hpp"
#include "operators/sparse/column_products.hpp"
#include "operators/sparse/padding.hpp"
#include "operators/sparse/stored_diagonal.hpp"

namespace femcg::operators {

namespace {

bool is_width(std::string_view text) { return text == "auto" || text == "0" || parse_positive(text).has_value(); }

constexpr std::array options{
    OptionDescription{"width", "auto, or a number of entries", "auto",
                      "entries a row in the padded part; auto: what a third of the rows, and 4096, have", is_width},
};

template <std::floating_point T>
std::int64_t length_of(const CsrMatrix<T>& matrix, std::int64_t row) {
  return matrix.row_offsets[row + 1] - matrix.row_offsets[row];
}

/// The rows that are longer than the padded part.
template <std::floating_point T>
void list_rest(const CsrMatrix<T>& matrix, HybMatrix<T>& to) {
  const std::int64_t slices = to.stride / HybMatrix<T>::slice_rows;
  to.rest_of_slice = Vector<std::int32_t>(slices + 1);
  std::vector<std::int32_t> rows;
  std::vector<std::int64_t> offsets{0};
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    if (row % HybMatrix<T>::slice_rows == 0)
      to.rest_of_slice[row / HybMatrix<T>::slice_rows] = static_cast<std::int32_t>(rows.size());
    if (length_of(matrix, row) <= to.width) continue;
    rows.push_back(static_cast<std::int32_t>(row));
    offsets.push_back(offsets.back() + length_of(matrix, row) - to.width);
  }
  to.rest_of_slice[slices] = static_cast<std::int32_t>(rows.size());
  to.rest_rows = Vector<std::int32_t>(static_cast<std::int64_t>(rows.size()));
  to.rest_offsets = Vector<std::int64_t>(static_cast<std::int64_t>(offsets.size()));
  std::copy(rows.begin(), rows.end(), to.rest_rows.data());
  std::copy(offsets.begin(), offsets.end(), to.rest_offsets.data());
  to.rest_entries = offsets.back();
}

template <std::floating_point T>
void fill(const CsrMatrix<T>& matrix, HybMatrix<T>& to) {
  to.columns = Vector<std::int32_t>(to.width * to.stride);
  to.values = Vector<T>(to.width * to.stride);
  for_row_blocks(to.stride, EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = 0; k < to.width; ++k)
      for (std::int64_t row = first; row < last; ++row) {
        const Entry<T> entry = padded_entry(matrix, row, k);
        to.columns[k * to.stride + row] = entry.column;
        to.values[k * to.stride + row] = entry.value;
      }
  });
  to.rest_columns = Vector<std::int32_t>(to.rest_entries);
  to.rest_values = Vector<T>(to.rest_entries);
  for_row_blocks(to.rest_rows.size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t row = to.rest_rows[i];
      const std::int64_t from = matrix.row_offsets[row] + to.width, end = matrix.row_offsets[row + 1];
      std::copy(matrix.columns.data() + from, matrix.columns.data() + end, to.rest_columns.data() + to.rest_offsets[i]);
      std::copy(matrix.values.data() + from, matrix.values.data() + end, to.rest_values.data() + to.rest_offsets[i]);
    }
  });
}

/// sum of values[k] x[columns[k]] over first <= k < last.
template <std::floating_point T>
T rest_times_vector(const T* values, const std::int32_t* columns, const T* x, std::int64_t first, std::int64_t last) {
  Quad<T> sums{};
  std::int64_t k = first;
  for (; k + 4 <= last; k += 4) sums += load<4>(values + k) * pick_four(x, columns + k);
  T sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  for (; k < last; ++k) sum += values[k] * x[columns[k]];
  return sum;
}

/// sums[i] is the product of row first + i with x.
template <std::floating_point T>
void multiply_block(const HybMatrix<T>& a, const T* x, T* sums, std::int64_t first, std::int64_t last) {
  constexpr std::int64_t slice_rows = HybMatrix<T>::slice_rows;
  std::fill(sums, sums + (last - first), T(0));
  for (std::int64_t k = 0; k < a.width; ++k) {
    const std::int64_t begin = k * a.stride + first, ahead = k + 1 < a.width ? a.stride : 0;
    add_products(a.values.data() + begin, a.columns.data() + begin, x, sums, last - first, ahead);
  }
  const std::int32_t end = a.rest_of_slice[(last + slice_rows - 1) / slice_rows];
  for (std::int32_t i = a.rest_of_slice[first / slice_rows]; i < end; ++i)
    sums[a.rest_rows[i] - first] +=
        rest_times_vector(a.rest_values.data(), a.rest_columns.data(), x, a.rest_offsets[i], a.rest_offsets[i + 1]);
}

template <std::floating_point T>
class Hyb final : public Operator<T> {
 public:
  explicit Hyb(HybMatrix<T> a) : Operator<T>(a.rows, Device::host), a_(std::move(a)) {}

  void diagonal(Vector<T>& d) const override {
    assert(d.size() == this->size());
    for_row_blocks(this->size(), entries_before(), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        d[row] = 0;
        for (std::int32_t k = 0; k < a_.lengths[row]; ++k)
          if (a_.columns[k * a_.stride + row] == row) d[row] = a_.values[k * a_.stride + row];
      }
    });
    for (std::int64_t i = 0; i < a_.rest_rows.size(); ++i)
      for (std::int64_t k = a_.rest_offsets[i]; k < a_.rest_offsets[i + 1]; ++k)
        if (a_.rest_columns[k] == a_.rest_rows[i]) d[a_.rest_rows[i]] = a_.rest_values[k];
  }

  Footprint footprint() const override { return footprint_of(a_, false); }

 private:
  /// Entries before a row that begins a slice, padding included.
  auto entries_before() const {
    return [this](std::int64_t row) {
      const std::int64_t slice = (row + HybMatrix<T>::slice_rows - 1) / HybMatrix<T>::slice_rows;
      return row * a_.width + a_.rest_offsets[a_.rest_of_slice[slice]];
    };
  }

  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    const T* from = x.data();
    T* to = y.data();
    const auto rows_times_vector = [=, this](std::int64_t first, std::int64_t last) {
      std::array<T, rows_per_block> sums;
      multiply_block(a_, from, sums.data(), first, last);
      std::copy_n(sums.data(), last - first, to + first);
      return energy != nullptr ? dot_of_rows(from, to, first, last) : 0.0;
    };
    const double sum = sum_over_row_blocks(this->size(), entries_before(), rows_times_vector);
    if (energy != nullptr) *energy->data() = sum;
  }

  HybMatrix<T> a_;
};

}  // namespace

std::span<const OptionDescription> hyb_options() { return options; }

template <std::floating_point T>
std::int64_t typical_width(const CsrMatrix<T>& matrix) {
  constexpr std::int64_t relative_speed = 3, enough_rows = 4096;
  std::vector<std::int64_t> of_length(static_cast<std::size_t>(longest_row(matrix)) + 1);
  for (std::int64_t row = 0; row < matrix.rows; ++row) ++of_length[static_cast<std::size_t>(length_of(matrix, row))];
  std::int64_t width = longest_row(matrix), longer = 0;  // rows of at least `width` entries
  for (; width > 0; --width) {
    longer += of_length[static_cast<std::size_t>(width)];
    if (longer >= enough_rows && relative_speed * longer >= matrix.rows) break;
  }
  return width;
}

template <std::floating_point T>
HybMatrix<T> lists_of_hyb(const CsrMatrix<T>& matrix, std::int64_t width) {
  constexpr std::int64_t slice_rows = HybMatrix<T>::slice_rows;
  HybMatrix<T> to;
  to.rows = matrix.rows;
  to.nonzeros = matrix.nonzeros();
  to.width = std::min(width, longest_row(matrix));
  to.stride = (std::int64_t{matrix.rows} + slice_rows - 1) / slice_rows * slice_rows;
  check_padding(matrix, to.width, to.width * to.stride, "option 'width' of operator 'hyb'");
  to.lengths = Vector<std::int32_t>(to.stride);
  for (std::int64_t row = 0; row < to.stride; ++row)
    to.lengths[row] = row < matrix.rows ? static_cast<std::int32_t>(std::min(to.width, length_of(matrix, row))) : 0;
  list_rest(matrix, to);
  return to;
}

namespace {

/// The lists for the width that is given, or the typical one.
template <std::floating_point T>
HybMatrix<T> chosen_lists(const CsrMatrix<T>& matrix, const Options& given) {
  const std::string_view text = value_of(options[0], "hyb", given);
  return lists_of_hyb(matrix, text == "auto" ? typical_width(matrix) : parse_positive(text).value_or(0));
}

}  // namespace

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_hyb(const Ingredients<T>& from, const Options& given) {
  HybMatrix<T> a = chosen_lists(*from.matrix, given);
  if (from.device == Device::cuda) return make_hyb_cuda(a, *from.matrix, diagonal_of(*from.matrix));
  fill(*from.matrix, a);
  return std::make_unique<Hyb<T>>(std::move(a));
}

template <std::floating_point T>
OperatorBytes bytes_of_hyb(const Extent<T>& of, const Options& given) {
  return converted_bytes(of, footprint_of(chosen_lists(*of.matrix, given), false));
}

template std::unique_ptr<Operator<double>> make_hyb(const Ingredients<double>&, const Options&);
template std::unique_ptr<Operator<float>> make_hyb(const Ingredients<float>&, const Options&);
template OperatorBytes bytes_of_hyb(const Extent<double>&, const Options&);
template OperatorBytes bytes_of_hyb(const Extent<float>&, const Options&);

}  // namespace femcg::operators
