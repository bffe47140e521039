// Stored: values and 32-bit columns, rows padded to a multiple of 16 entries; the 32-bit start and length of each row.
// A product moves sizeof(T) + 4 bytes per nonzero, 8 a row, and x and y once; what is fetched beside is the padding
// that shares a cache line with the end of a row.
//
// On the host a row is summed four entries at a time, from one aligned address to the next: there is no remainder.

#include "operators/csr_aligned/csr_aligned.hpp"

#include <array>
#include <cassert>
#include <limits>
#include <stdexcept>

#include "operators/backend/parallel_rows.hpp"
#include "operators/backend/simd.hpp"
#include "operators/csr_aligned/csr_aligned_matrix.hpp"
#include "operators/sparse/padding.hpp"
#include "operators/sparse/stored_diagonal.hpp"

namespace femcg::operators {

namespace {

/// Moves the entries to their places.
template <std::floating_point T>
void fill(const CsrMatrix<T>& matrix, AlignedRows<T>& to) {
  constexpr std::int64_t alignment = AlignedRows<T>::alignment;
  to.columns = Vector<std::int32_t>(to.entries);
  to.values = Vector<T>(to.entries);
  for_row_blocks(matrix.rows, EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t begin = to.starts[row] * alignment;
      const std::int64_t padded = (to.lengths[row] + alignment - 1) / alignment * alignment;
      for (std::int64_t k = 0; k < padded; ++k) {
        const Entry<T> entry = padded_entry(matrix, row, k);
        to.columns[begin + k] = entry.column;
        to.values[begin + k] = entry.value;
      }
    }
  });
}

/// sum of values[k] x[columns[k]] over k < length, a multiple of four.
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

template <std::floating_point T>
class CsrAligned final : public Operator<T> {
 public:
  explicit CsrAligned(AlignedRows<T> a) : Operator<T>(a.rows, Device::host), a_(std::move(a)) {}

  void diagonal(Vector<T>& d) const override {
    assert(d.size() == this->size());
    for_row_blocks(this->size(), entries_before(), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        const std::int64_t begin = a_.starts[row] * AlignedRows<T>::alignment;
        const std::int32_t* columns = a_.columns.data() + begin;
        const std::int32_t* found = std::lower_bound(columns, columns + a_.lengths[row], row);
        d[row] = found != columns + a_.lengths[row] && *found == row ? a_.values[found - a_.columns.data()] : T(0);
      }
    });
  }

  Footprint footprint() const override { return footprint_of(a_); }

 private:
  auto entries_before() const {
    return [this](std::int64_t row) { return row < a_.rows ? a_.starts[row] * AlignedRows<T>::alignment : a_.entries; };
  }

  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    const T *from = x.data(), *values = a_.values.data();
    const std::int32_t *columns = a_.columns.data(), *starts = a_.starts.data(), *lengths = a_.lengths.data();
    T* to = y.data();
    const auto rows_times_vector = [=](std::int64_t first, std::int64_t last) {
      // A store to y would hold up loads of x at the same place of another page; in the L1 cache it is over at once.
      std::array<T, rows_per_block> sums;
      for (std::int64_t row = first; row < last; ++row) {
        const std::int64_t begin = starts[row] * AlignedRows<T>::alignment;
        sums[row - first] =
            row_times_vector(values + begin, columns + begin, from, (std::int64_t{lengths[row]} + 3) / 4 * 4);
      }
      std::copy_n(sums.data(), last - first, to + first);
      return energy != nullptr ? dot_of_rows(from, to, first, last) : 0.0;
    };
    const double sum = sum_over_row_blocks(this->size(), entries_before(), rows_times_vector);
    if (energy != nullptr) *energy->data() = sum;
  }

  AlignedRows<T> a_;
};

}  // namespace

template <std::floating_point T>
AlignedRows<T> lists_of_aligned_rows(const CsrMatrix<T>& matrix) {
  constexpr std::int64_t alignment = AlignedRows<T>::alignment;
  AlignedRows<T> to;
  to.rows = matrix.rows;
  to.nonzeros = matrix.nonzeros();
  to.starts = Vector<std::int32_t>(matrix.rows);
  to.lengths = Vector<std::int32_t>(matrix.rows);
  std::int64_t segments = 0;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    const std::int64_t length = matrix.row_offsets[row + 1] - matrix.row_offsets[row];
    to.starts[row] = static_cast<std::int32_t>(segments);
    to.lengths[row] = static_cast<std::int32_t>(length);
    segments += (length + alignment - 1) / alignment;
    if (segments > std::numeric_limits<std::int32_t>::max())
      throw std::invalid_argument("operator 'csr-aligned' takes up to 34 thousand million entries, padding included");
  }
  to.entries = segments * alignment;
  return to;
}

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_csr_aligned(const Ingredients<T>& from, const Options&) {
  AlignedRows<T> a = lists_of_aligned_rows(*from.matrix);
  if (from.device == Device::cuda) return make_csr_aligned_cuda(a, *from.matrix, diagonal_of(*from.matrix));
  fill(*from.matrix, a);
  return std::make_unique<CsrAligned<T>>(std::move(a));
}

template <std::floating_point T>
OperatorBytes bytes_of_csr_aligned(const Extent<T>& of, const Options&) {
  return converted_bytes(of, footprint_of(lists_of_aligned_rows(*of.matrix)));
}

template std::unique_ptr<Operator<double>> make_csr_aligned(const Ingredients<double>&, const Options&);
template std::unique_ptr<Operator<float>> make_csr_aligned(const Ingredients<float>&, const Options&);
template OperatorBytes bytes_of_csr_aligned(const Extent<double>&, const Options&);
template OperatorBytes bytes_of_csr_aligned(const Extent<float>&, const Options&);

}  // namespace femcg::operators
