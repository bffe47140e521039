// SELL-C-sigma on the GPU: a thread a row, so that a warp reads 32 values and 32 columns of neighbouring rows at once;
// four entries of a row are in flight together. Columns are 16-bit offsets from the chunk's least column where that
// fits. Moves sizeof(T) + 2 or 4 bytes an entry, padding included, (8 + 4) / C + 4 a row, and x and y once (Kreutzer et
// al. 2012).

#include <algorithm>

#include "operators/cuda_sum.cuh"
#include "operators/narrow_columns.hpp"
#include "operators/sell/sell_cuda.hpp"
#include "operators/stored_diagonal.hpp"
#include "operators/stored_footprint.hpp"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256;

template <class T, class Column>
struct Chunks {
  std::int64_t rows;
  int chunk_rows;
  const std::int64_t* offsets;
  const Column* columns;
  const T* values;
  const std::int32_t* places;  ///< the row at each position; null where rows keep their order
  const std::int32_t* bases;   ///< the least column of each chunk; null where columns are whole
};

/// sum of entries begin, begin + step, ... before end.
template <class T, class Column>
__device__ T sum_row(const T* values, const Column* columns, const T* x, std::int64_t begin, std::int64_t end,
                     std::int64_t step) {
  constexpr int at_once = 4;
  T sum = 0;
  std::int64_t k = begin;
  for (; k + (at_once - 1) * step < end; k += at_once * step) {
    Column column[at_once];
    T value[at_once], of_x[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) column[i] = __ldcs(columns + k + i * step);
#pragma unroll
    for (int i = 0; i < at_once; ++i) value[i] = __ldcs(values + k + i * step);
#pragma unroll
    for (int i = 0; i < at_once; ++i) of_x[i] = __ldg(x + column[i]);
#pragma unroll
    for (int i = 0; i < at_once; ++i) sum += value[i] * of_x[i];
  }
  for (; k < end; k += step) sum += __ldcs(values + k) * __ldg(x + __ldcs(columns + k));
  return sum;
}

template <class T, class Column, bool with_energy>
__global__ void __launch_bounds__(block_threads)
    sell_kernel(Chunks<T, Column> a, const T* x, T* y, double* energy, cuda::Parts<1> parts) {
  double sums[1] = {0};
  const std::int64_t threads = std::int64_t{gridDim.x} * block_threads;
  for (std::int64_t position = std::int64_t{blockIdx.x} * block_threads + threadIdx.x; position < a.rows;
       position += threads) {
    const std::int64_t chunk = position / a.chunk_rows;
    const std::int64_t row = a.places == nullptr ? position : a.places[position];
    const T* from = a.bases == nullptr ? x : x + a.bases[chunk];
    const T sum = sum_row(a.values, a.columns, from, a.offsets[chunk] + position % a.chunk_rows, a.offsets[chunk + 1],
                          a.chunk_rows);
    y[row] = sum;
    if constexpr (with_energy) sums[0] += static_cast<double>(sum) * static_cast<double>(x[row]);
  }
  if constexpr (with_energy) cuda::sum_of_grid(sums, parts, [&](const double(&results)[1]) { *energy = results[0]; });
}

template <std::floating_point T>
class CudaSell final : public Operator<T> {
 public:
  CudaSell(const CsrMatrix<T>& matrix, const SellMatrix<T>& chunks, std::string_view index)
      : Operator<T>(matrix.rows, Device::cuda),
        nonzeros_(matrix.nonzeros()),
        chunk_rows_(static_cast<int>(chunks.chunk_rows)),
        offsets_(copied(chunks.offsets, Device::cuda)),
        values_(copied(chunks.values, Device::cuda)),
        places_(copied(chunks.places, Device::cuda)),
        diagonal_(diagonal_of(matrix)),
        blocks_(std::min(cuda::resident_blocks(sell_kernel<T, std::uint16_t, true>, block_threads),
                         cuda::resident_blocks(sell_kernel<T, std::int32_t, true>, block_threads))),
        parts_(blocks_) {
    if (index != "32") {
      const NarrowColumns narrow = narrow_columns(chunks.columns, chunks.offsets);
      if (narrow.bases.size() > 0 || matrix.rows == 0) {
        bases_ = copied(narrow.bases, Device::cuda);
        narrow_columns_ = copied(narrow.columns, Device::cuda);
        return;
      }
      if (index == "16")
        throw std::invalid_argument(
            "16-bit columns do not fit: the rows of some chunk reach further than 65536 "
            "columns; use index: 32");
    }
    columns_ = copied(chunks.columns, Device::cuda);
  }

  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }

  Footprint footprint() const override {
    const std::int64_t bytes = values_.bytes() + columns_.bytes() + narrow_columns_.bytes() + bases_.bytes() +
                               offsets_.bytes() + places_.bytes();
    return stored_footprint<T>(this->size(), nonzeros_, values_.size(), bytes, bytes);
  }

 private:
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    if (bases_.size() > 0)
      launch_with(narrow_columns_.data(), bases_.data(), x, y, energy);
    else
      launch_with(columns_.data(), static_cast<const std::int32_t*>(nullptr), x, y, energy);
  }
  template <class Column>
  void launch_with(const Column* columns, const std::int32_t* bases, const Vector<T>& x, Vector<T>& y,
                   Scalar* energy) const {
    const Chunks<T, Column> a{this->size(), chunk_rows_,    offsets_.data(),
                              columns,      values_.data(), places_.size() > 0 ? places_.data() : nullptr,
                              bases};
    const std::int64_t blocks =
        std::clamp<std::int64_t>((this->size() + block_threads - 1) / block_threads, 1, blocks_);
    const auto kernel = energy != nullptr ? sell_kernel<T, Column, true> : sell_kernel<T, Column, false>;
    cuda::launch(kernel, blocks, block_threads, 0, a, x.data(), y.data(), energy != nullptr ? energy->data() : nullptr,
                 parts_.parts());
  }

  std::int64_t nonzeros_;
  int chunk_rows_;
  Vector<std::int64_t> offsets_;
  Vector<T> values_;
  Vector<std::int32_t> places_;
  Vector<T> diagonal_;  ///< on the host
  std::int64_t blocks_;
  Vector<std::int32_t> bases_;
  Vector<std::uint16_t> narrow_columns_;
  Vector<std::int32_t> columns_;
  mutable cuda::PartsStorage<1> parts_;
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_sell_cuda(const CsrMatrix<T>& matrix, const SellMatrix<T>& chunks,
                                            std::string_view index) {
  return std::make_unique<CudaSell<T>>(matrix, chunks, index);
}

template std::unique_ptr<Operator<double>> make_sell_cuda(const CsrMatrix<double>&, const SellMatrix<double>&,
                                                          std::string_view);
template std::unique_ptr<Operator<float>> make_sell_cuda(const CsrMatrix<float>&, const SellMatrix<float>&,
                                                         std::string_view);

}  // namespace femcg::operators
