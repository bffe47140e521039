// Stored: `width` values and 32-bit columns per row, entry k of all rows before entry k + 1; the rest row by row, with
// a row number and a 64-bit offset for every row with a rest. A product moves sizeof(T) + 4 bytes per entry, padding
// included, 12 a row with a rest, and x and y once.
//
// A block of rows goes through all columns of the padded part with its sums in the L1 cache, then through the rest.

#include "operators/stored/hyb/hyb.hpp"

#include <array>
#include <vector>

#include "operators/backend/threads/simd.hpp"
#include "operators/stored/common/multi_vector_products.hpp"
#include "operators/stored/common/padding.hpp"
#include "operators/stored/common/stored_description.hpp"

namespace femcg::operators {

namespace {

bool is_width(std::string_view text) { return text == "auto" || text == "0" || parse_positive(text).has_value(); }

constexpr std::array options{
    OptionDescription{"width", "auto, or a number of entries", "auto",
                      "entries per row in the padded part; auto: what a third of the rows, and 4096, have", is_width},
    resident_option,
    gpu_memory_option,
};

template <std::floating_point T>
std::int64_t length_of(const CsrMatrix<T>& matrix, std::int64_t row) {
  return matrix.row_offsets[row + 1] - matrix.row_offsets[row];
}

/// Bell & Garland's width: the largest k such that at least a third of the rows, and at least 4096, have k entries or
/// more. They found the padded part three times as fast as coordinates, and fewer than 4096 rows too few to fill a GPU.
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

/// The width of option width, or the typical one.
template <std::floating_point T>
std::int64_t chosen_width(const CsrMatrix<T>& matrix, const Options& given) {
  const std::string_view text = value_of(options[0], "hyb", given);
  if (text == "auto") return typical_width(matrix);
  return std::min(parse_positive(text).value_or(0), longest_row(matrix));
}

/// Lists the rows that are longer than the padded part.
template <std::floating_point T>
void list_rest(const CsrMatrix<T>& matrix, Hyb<T>& to) {
  const std::int64_t slices = to.stride / Hyb<T>::slice_rows;
  to.rest_of_slice = Vector<std::int32_t>(slices + 1);
  std::vector<std::int32_t> rows;
  std::vector<std::int64_t> offsets{0};
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    if (row % Hyb<T>::slice_rows == 0)
      to.rest_of_slice[row / Hyb<T>::slice_rows] = static_cast<std::int32_t>(rows.size());
    if (length_of(matrix, row) <= to.width) continue;
    rows.push_back(static_cast<std::int32_t>(row));
    offsets.push_back(offsets.back() + length_of(matrix, row) - to.width);
  }
  to.rest_of_slice[slices] = static_cast<std::int32_t>(rows.size());
  to.rest_rows = Vector<std::int32_t>(static_cast<std::int64_t>(rows.size()));
  to.rest_offsets = Vector<std::int64_t>(static_cast<std::int64_t>(offsets.size()));
  std::copy(rows.begin(), rows.end(), to.rest_rows.data());
  std::copy(offsets.begin(), offsets.end(), to.rest_offsets.data());
  to.rest_row_count = to.rest_rows.size();
  to.entries += offsets.back();
}

/// Sum of values[k] x[columns[k]] over first <= k < last.
template <std::floating_point T>
T rest_times_vector(const T* values, const std::int32_t* columns, const T* x, std::int64_t first, std::int64_t last) {
  Quad<T> sums{};
  std::int64_t k = first;
  for (; k + 4 <= last; k += 4) sums += load<4>(values + k) * pick_four(x, columns + k);
  T sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  for (; k < last; ++k) sum += values[k] * x[columns[k]];
  return sum;
}

/// sums[i] = product of row first + i with x.
template <std::floating_point T>
void multiply_block(const Hyb<T>& a, const T* x, T* sums, std::int64_t first, std::int64_t last) {
  constexpr std::int64_t slice_rows = Hyb<T>::slice_rows;
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

}  // namespace

template <std::floating_point T>
Hyb<T>::Hyb(const CsrMatrix<T>& matrix, Device, const Options& given)
    : rows(matrix.rows),
      nonzeros(matrix.nonzeros()),
      width(chosen_width(matrix, given)),
      stride((std::int64_t{rows} + slice_rows - 1) / slice_rows * slice_rows),
      entries(width * stride),
      lengths(stride) {
  check_padding(matrix, width, entries, "option 'width' of operator 'hyb'");
  for (std::int64_t row = 0; row < stride; ++row)
    lengths[row] = row < rows ? static_cast<std::int32_t>(std::min(width, length_of(matrix, row))) : 0;
  list_rest(matrix, *this);
}

template <std::floating_point T>
Options Hyb<T>::options_of_chunks(const CsrMatrix<T>& matrix, Options given) {
  given["width"] = std::to_string(chosen_width(matrix, given));
  return given;
}

template <std::floating_point T>
double Hyb<T>::multiply_rows(const T* x, T* y, std::int64_t first, std::int64_t last, bool with_energy) const {
  std::array<T, rows_per_block> sums;
  multiply_block(*this, x, sums.data(), first, last);
  std::copy_n(sums.data(), last - first, y + first);
  return with_energy ? dot_of_rows(x, y, first, last) : 0.0;
}

OperatorDescription hyb() {
  return describe_stored<Hyb>("ELLPACK for the typical row, coordinates for the rest", "Bell & Garland 2009", options);
}

// Used by the GPU's version.
template struct Hyb<double>;
template struct Hyb<float>;

}  // namespace femcg::operators
