// Stored: 16 bytes per tile of eight rows; per batch of 16 columns that occur in the tile 20 bytes and 16 columns of 2
// or 4 bytes; the entries without padding. A product moves these, and x and y once: with 16-bit columns 8.8 bytes a
// nonzero for quadrilaterals of degree 4, 9.0 for hexahedra of degree 2, 9.6 for tetrahedra of degree 2.
//
// On the host the bits of a step are processed one by one, with the sums of eight rows in registers.

#include "operators/stored/csr_bitmask/csr_bitmask.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "operators/backend/multi_vector.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/stored/common/multi_vector_by_rows.hpp"
#include "operators/stored/csr_bitmask/bitmask_matrix.hpp"

namespace femcg::operators {

namespace {

/// Calls take(row of the tile, column, value) for the entries of a tile.
template <class Rows, class Take>
void for_entries(const Rows& a, std::int64_t number, const Take& take) {
  const BitmaskTile& tile = a.tiles[number];
  const auto* value = a.values + tile.first_value;
  for (std::int64_t batch = tile.first_batch; batch < a.tiles[number + 1].first_batch; ++batch)
    for (int step = 0; step < steps_per_batch; ++step)
      for (std::uint32_t mask = a.masks[batch].of[step]; mask != 0; mask &= mask - 1) {
        const int bit = std::countr_zero(mask), place = bit % columns_per_step;
        take(bit / columns_per_step, tile.base + std::int32_t{a.columns[columns_per_step * batch + place].of[step]},
             *value++);
      }
}

/// y = A x on the rows of a tile; returns their contribution to x'y if `with_energy`.
template <std::floating_point T, class Rows>
double multiply_tile(const Rows& a, std::int64_t number, const T* x, T* y, bool with_energy) {
  std::array<T, rows_per_tile> sums{};
  for_entries(a, number, [&](int row, std::int32_t column, T value) { sums[row] += value * x[column]; });
  const std::int64_t first = rows_per_tile * number, last = std::min(a.rows, first + rows_per_tile);
  std::copy_n(sums.data(), last - first, y + first);
  return with_energy ? dot_of_rows(x, y, first, last) : 0.0;
}

/// Y = A X on the rows of a tile; adds their contributions to x_c'y_c.
template <int stride, std::floating_point T, class Rows>
void multiply_tile(const Rows& a, std::int64_t number, const T* x, T* y, ColumnSums<stride>& energies) {
  std::array<RowOfMultiVector<T, stride>, rows_per_tile> sums{};
  for_entries(a, number,
              [&](int row, std::int32_t column, T value) { sums[row].add(value, x + std::int64_t{column} * stride); });
  const std::int64_t first = rows_per_tile * number;
  for (std::int64_t row = first; row < std::min(a.rows, first + rows_per_tile); ++row) {
    std::memcpy(y + row * stride, sums[row - first].of, stride * sizeof(T));
    add_products_of_rows<stride>(x + row * stride, y + row * stride, energies.of);
  }
}

template <std::floating_point T>
class CsrBitmask final : public Operator<T> {
 public:
  explicit CsrBitmask(const CsrMatrix<T>& matrix)
      : Operator<T>(matrix.rows, Device::host), a_(tiles_of(matrix)), diagonal_(diagonal_of(matrix)) {}

  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  Footprint footprint() const override { return footprint_of_tiles(a_); }
  std::map<std::string, std::string> chosen() const override { return choice_of_tiles(a_); }

 private:
  /// Entries before the tile that begins with a row, or before the next tile.
  auto work() const {
    return [this](std::int64_t row) { return a_.tiles[(row + rows_per_tile - 1) / rows_per_tile].first_value; };
  }
  /// Calls multiply(rows, tile) for the tiles of the rows [first, last), where `first` begins a tile.
  template <class Multiply>
  void for_tiles(std::int64_t first, std::int64_t last, const Multiply& multiply) const {
    a_.with_pointers([&](const auto& a) {
      for (std::int64_t tile = first / rows_per_tile; tile * rows_per_tile < last; ++tile) multiply(a, tile);
    });
  }
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    const double sum = sum_over_row_blocks(a_.rows, work(), [&](std::int64_t first, std::int64_t last) {
      double of_block = 0;
      for_tiles(first, last, [&](const auto& a, std::int64_t tile) {
        of_block += multiply_tile(a, tile, x.data(), y.data(), energy != nullptr);
      });
      return of_block;
    });
    if (energy != nullptr) *energy->data() = sum;
  }
  void multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const override {
    with_stride(x.stride(), [&]<int stride>() {
      const auto sums = sum_over_row_blocks(a_.rows, work(), [&](std::int64_t first, std::int64_t last) {
        ColumnSums<stride> of_block;
        for_tiles(first, last,
                  [&](const auto& a, std::int64_t tile) { multiply_tile(a, tile, x.data(), y.data(), of_block); });
        return of_block;
      });
      if (energies != nullptr) std::copy(sums.of.begin(), sums.of.end(), energies);
    });
  }

  BitmaskMatrix<T> a_;
  Vector<T> diagonal_;
};

template <std::floating_point T>
std::unique_ptr<Operator<T>> make(const Ingredients<T>& from, const Options&) {
  return std::make_unique<CsrBitmask<T>>(*from.matrix);
}

/// Columns that the rows of a tile have in common are known only from the columns: at best each row has those of the
/// longest. For a form half of the bound is assumed.
template <std::floating_point T>
StorageEstimate estimate(const Extent<T>& of, const Options&) {
  const CsrMatrix<T>& matrix = *of.matrix;
  BitmaskMatrix<T> bound = bound_of_tiles(matrix);
  StorageEstimate estimate{.arrays = arrays_of(bound)};
  const std::int64_t stored = estimate.stored(), most = bound.batches;
  bound.narrow = true;
  bound.batches = 0;
  for (std::int64_t first = 0; first < bound.rows; first += rows_per_tile) {
    std::int64_t longest = 0;
    for (std::int64_t row = first; row < std::min(bound.rows, first + rows_per_tile); ++row)
      longest = std::max(longest, matrix.row_offsets[row + 1] - matrix.row_offsets[row]);
    bound.batches += (longest + columns_per_batch - 1) / columns_per_batch;
  }
  estimate.slack = stored - total_bytes(arrays_of(bound));
  bound.batches = std::max(bound.batches, most / (of.form != nullptr ? 3 : 1));
  estimate.product = footprint_of_tiles(bound);
  if (of.device == Device::cuda) estimate.making_on_host = stored;
  return estimate;
}

}  // namespace

OperatorDescription csr_bitmask() {
  return {.name = "csr-bitmask",
          .stores = "tiles of 8 rows and 4 columns, a bit for each entry that there is",
          .source = "Buluc et al. 2011",
          .needs = Needs::matrix,
          .cuda = true,
          .on_host = {make<double>, make<float>},
          .estimates = {estimate<double>, estimate<float>}};
}

}  // namespace femcg::operators
