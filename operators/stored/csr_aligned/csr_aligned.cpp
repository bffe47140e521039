// Stored: values and 32-bit columns, rows padded to a multiple of 16 entries; the 32-bit start and length of each row.
// A product moves sizeof(T) + 4 bytes per nonzero, 8 a row, and x and y once, plus the padding in the last cache line
// of a row.
//
// On the host a row is summed four entries at a time, from aligned addresses, without a remainder.

#include "operators/stored/csr_aligned/csr_aligned.hpp"

#include <array>
#include <limits>
#include <stdexcept>

#include "operators/backend/threads/simd.hpp"
#include "operators/stored/common/stored_description.hpp"

namespace femcg::operators {

namespace {

/// Sum of values[k] x[columns[k]] over k < length, a multiple of four.
template <std::floating_point T>
T row_times_vector(const T* values, const std::int32_t* columns, const T* x, std::int64_t length) {
  Quad<T> sums{}, others{};
  std::int64_t k = 0;
  for (; k + 8 <= length; k += 8) {
    prefetch_ahead(values + k);
    prefetch_ahead(columns + k);
    sums += load<4>(values + k) * pick_four(x, columns + k);
    others += load<4>(values + k + 4) * pick_four(x, columns + k + 4);
  }
  if (k < length) sums += load<4>(values + k) * pick_four(x, columns + k);
  sums += others;
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

template <std::floating_point T>
AlignedRows<T>::AlignedRows(const CsrMatrix<T>& matrix, Device, const Options&)
    : rows(matrix.rows), nonzeros(matrix.nonzeros()), starts(rows), lengths(rows) {
  const Entries<T> source = entries_of(matrix);
  std::int64_t segments = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    starts[row] = static_cast<std::int32_t>(segments);
    lengths[row] = static_cast<std::int32_t>(source.length(row));
    segments += (lengths[row] + alignment - 1) / alignment;
    if (segments > std::numeric_limits<std::int32_t>::max())
      throw std::invalid_argument("operator 'csr-aligned' takes up to 34 thousand million entries, padding included");
  }
  entries = segments * alignment;
}

template <std::floating_point T>
double AlignedRows<T>::multiply_rows(const T* x, T* y, std::int64_t first, std::int64_t last, bool with_energy) const {
  // Sums go to y at the end of the block: a store to y would delay loads of x at the same offset of another page.
  std::array<T, rows_per_block> sums;
  for (std::int64_t row = first; row < last; ++row) {
    const std::int64_t begin = starts[row] * alignment;
    sums[row - first] =
        row_times_vector(values.data() + begin, columns.data() + begin, x, (std::int64_t{lengths[row]} + 3) / 4 * 4);
  }
  std::copy_n(sums.data(), last - first, y + first);
  return with_energy ? dot_of_rows(x, y, first, last) : 0.0;
}

OperatorDescription csr_aligned() {
  return describe_stored<AlignedRows>("compressed rows that begin at multiples of 16 entries",
                                      "Baskaran & Bordawekar 2009");
}

// Used by the GPU's version.
template struct AlignedRows<double>;
template struct AlignedRows<float>;

}  // namespace femcg::operators
