// Stored: values, 32-bit columns, 64-bit row offsets. A product moves sizeof(T) + 4 bytes a nonzero and
// 2 sizeof(T) + 8 a row (Reguly & Giles 2012, eq. 4, whose row pointers have 4).
//
// Threads share blocks of rows by bytes; a row is summed four entries at a time, so that neither the latency of one
// chain of additions nor gather instructions (see pick_four) stand between the memory and the sum.

#include "operators/csr/csr.hpp"

#include <array>
#include <cassert>

#include "operators/quad.hpp"
#include "operators/row_blocks.hpp"
#include "operators/stored_footprint.hpp"

namespace femcg::operators {

namespace {

/// sum of values[k] x[columns[k]] over first <= k < last.
template <std::floating_point T>
inline T row_times_vector(const T* values, const std::int32_t* columns, const T* x, std::int64_t first,
                          std::int64_t last) {
  Quad<T> sums{}, others{};
  std::int64_t k = first;
  for (; k + 8 <= last; k += 8) {
    prefetch_ahead(values + k);
    prefetch_ahead(columns + k);
    sums += load<4>(values + k) * pick_four(x, columns + k);
    others += load<4>(values + k + 4) * pick_four(x, columns + k + 4);
  }
  sums += others;
  if (k + 4 <= last) {
    sums += load<4>(values + k) * pick_four(x, columns + k);
    k += 4;
  }
  Pack<T, 2> pair = Pack<T, 2>{sums[0], sums[1]} + Pack<T, 2>{sums[2], sums[3]};
  if (k + 2 <= last) {
    pair += load<2>(values + k) * pick_two(x, columns + k);
    k += 2;
  }
  const T sum = pair[0] + pair[1];
  return k < last ? sum + values[k] * x[columns[k]] : sum;
}

template <std::floating_point T>
class Csr final : public Operator<T> {
 public:
  explicit Csr(std::shared_ptr<const CsrMatrix<T>> matrix)
      : Operator<T>(matrix->rows, Device::host), matrix_(std::move(matrix)) {}

  void diagonal(Vector<T>& d) const override {
    assert(d.size() == this->size());
    const std::int32_t* columns = matrix_->columns.data();
    const std::int64_t* offsets = matrix_->row_offsets.data();
    for_row_blocks(this->size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        const std::int32_t* found = std::lower_bound(columns + offsets[row], columns + offsets[row + 1], row);
        const bool stored = found != columns + offsets[row + 1] && *found == row;
        d[row] = stored ? matrix_->values[found - columns] : T(0);
      }
    });
  }

  Footprint footprint() const override {
    const std::int64_t nonzeros = matrix_->nonzeros();
    return stored_footprint<T>(this->size(), nonzeros, nonzeros, matrix_->bytes(), matrix_->bytes());
  }

 private:
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    const T *values = matrix_->values.data(), *from = x.data();
    const std::int32_t* columns = matrix_->columns.data();
    const std::int64_t* offsets = matrix_->row_offsets.data();
    T* to = y.data();
    const bool with_energy = energy != nullptr;
    const auto bytes_before = [=](std::int64_t row) {
      constexpr std::int64_t word = sizeof(T);
      return offsets[row] * (word + 4) + row * (2 * word + 8);
    };
    const auto rows_times_vector = [=](std::int64_t first, std::int64_t last) {
      // A store to y would hold up loads of x at the same place of another page; in the first cache it is over at once.
      std::array<T, rows_a_block> sums;
      std::int64_t begin = offsets[first];
      for (std::int64_t row = first; row < last; ++row) {
        const std::int64_t end = offsets[row + 1];
        sums[row - first] = row_times_vector(values, columns, from, begin, end);
        begin = end;
      }
      std::copy_n(sums.data(), last - first, to + first);
      return with_energy ? dot_of_rows(from, to, first, last) : 0.0;
    };
    const double sum = this->size() > 0 ? sum_over_row_blocks(this->size(), bytes_before, rows_times_vector) : 0.0;
    if (with_energy) *energy->data() = sum;
  }

  std::shared_ptr<const CsrMatrix<T>> matrix_;
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_csr(const Ingredients<T>& from, const Options&) {
  return std::make_unique<Csr<T>>(from.matrix);
}

template std::unique_ptr<Operator<double>> make_csr(const Ingredients<double>&, const Options&);
template std::unique_ptr<Operator<float>> make_csr(const Ingredients<float>&, const Options&);

}  // namespace femcg::operators
