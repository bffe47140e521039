// SELL-C-sigma on the GPU: a thread a row, so that a warp reads 32 values and 32 columns of neighbouring rows at once;
// five or eight entries of a row are in flight together. Columns are 16-bit offsets from the chunk's least column where
// that fits. Moves sizeof(T) + 2 or 4 bytes an entry, padding included, (8 + 4) / C + 4 a row, and x and y once
// (Kreutzer et al. 2012).

#include <algorithm>

#include "operators/cuda_resident_cg.cuh"
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
  const std::int64_t* offsets;
  const Column* columns;
  const T* values;
  const std::int32_t* places;  ///< the row at each position; null where rows keep their order
  const std::int32_t* bases;   ///< the least column of each chunk; null where columns are whole
};

/// sum of `length` entries, C apart, `at_once` of them in flight together. Those that are one batch too many repeat the
/// first of the batch.
template <int C, int at_once, class T, class Column>
__device__ T sum_row(const T* values, const Column* columns, const T* x, int length) {
  T sum = 0;
  for (int k = 0; k < length; k += at_once, values += at_once * C, columns += at_once * C) {
    Column column[at_once];
    T value[at_once], of_x[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const bool there = k + i < length;
      column[i] = __ldcs(columns + (there ? i * C : 0));
      value[i] = there ? __ldcs(values + i * C) : T(0);
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) of_x[i] = __ldg(x + column[i]);
#pragma unroll
    for (int i = 0; i < at_once; ++i) sum += value[i] * of_x[i];
  }
  return sum;
}

/// Blocks go over the positions in strides of the grid, each stride turned by one block against the last: sorting puts
/// rows of one length at one place of every window, and no block shall meet the longest each time.
template <class T, class Column, int C, int at_once, bool with_energy>
__global__ void __launch_bounds__(block_threads)
    sell_kernel(Chunks<T, Column> a, const T* x, T* y, double* energy, cuda::Parts<1> parts) {
  double sums[1] = {0};
  const std::int64_t blocks = (a.rows + block_threads - 1) / block_threads;
  unsigned turned = blockIdx.x;
  for (std::int64_t first = 0; first < blocks; first += gridDim.x) {
    const std::int64_t position = (first + turned) * block_threads + threadIdx.x;
    turned = turned + 1 == gridDim.x ? 0 : turned + 1;
    if (position >= a.rows) continue;
    const std::int64_t chunk = position / C;
    const std::int64_t row = a.places == nullptr ? position : a.places[position];
    const std::int64_t begin = a.offsets[chunk], lane = position % C;
    const T* from = a.bases == nullptr ? x : x + a.bases[chunk];
    const T sum = sum_row<C, at_once>(a.values + begin + lane, a.columns + begin + lane, from,
                                      static_cast<int>((a.offsets[chunk + 1] - begin) / C));
    y[row] = sum;
    if constexpr (with_energy) sums[0] += static_cast<double>(sum) * static_cast<double>(__ldg(x + row));
  }
  if constexpr (with_energy) cuda::sum_of_grid(sums, parts, [&](const double(&results)[1]) { *energy = results[0]; });
}

template <class T, class Column>
using SellKernel = void (*)(Chunks<T, Column>, const T*, T*, double*, cuda::Parts<1>);

template <class T, class Column, int at_once, bool with_energy>
SellKernel<T, Column> sell_kernel_of(int chunk_rows) {
  switch (chunk_rows) {
    case 4:
      return sell_kernel<T, Column, 4, at_once, with_energy>;
    case 8:
      return sell_kernel<T, Column, 8, at_once, with_energy>;
    case 16:
      return sell_kernel<T, Column, 16, at_once, with_energy>;
    case 32:
      return sell_kernel<T, Column, 32, at_once, with_energy>;
    case 64:
      return sell_kernel<T, Column, 64, at_once, with_energy>;
    default:
      return sell_kernel<T, Column, 128, at_once, with_energy>;
  }
}

/// A kernel with its energy and without, and the blocks of it that the GPU holds at once.
template <class T, class Column>
struct SellKernels {
  SellKernels(int chunk_rows, double mean_length, std::int64_t most_blocks) {
    // Rows of 9 entries in two batches of 5; longer ones by 8.
    const bool short_rows = mean_length <= 10;
    with_energy =
        short_rows ? sell_kernel_of<T, Column, 5, true>(chunk_rows) : sell_kernel_of<T, Column, 8, true>(chunk_rows);
    without =
        short_rows ? sell_kernel_of<T, Column, 5, false>(chunk_rows) : sell_kernel_of<T, Column, 8, false>(chunk_rows);
    // Short rows gain from blocks that stay; for long ones the GPU balances better than strides do.
    const bool long_rows = mean_length * static_cast<double>(sizeof(T) + sizeof(Column)) > 240;
    blocks = long_rows ? most_blocks : cuda::resident_blocks(with_energy, block_threads);
  }
  SellKernel<T, Column> with_energy, without;
  std::int64_t blocks;
};

/// The matrix by rows, for the loop inside one kernel.
template <class T, class Column>
struct SellByRows : Chunks<T, Column> {
  SellByRows(const Chunks<T, Column>& of, int chunk) : Chunks<T, Column>(of), chunk_rows(chunk) {}
  int chunk_rows;

  struct Row {
    std::int64_t begin;
    std::int32_t count, base, number;
  };
  __device__ Row find(std::int32_t position) const {
    const std::int64_t chunk = position / chunk_rows, begin = this->offsets[chunk];
    return {begin + position % chunk_rows, static_cast<std::int32_t>((this->offsets[chunk + 1] - begin) / chunk_rows),
            this->bases == nullptr ? 0 : this->bases[chunk],
            this->places == nullptr ? position : this->places[position]};
  }
  template <int group>
  __device__ T times(const Row& row, int lane, const T* u) const {
    return cuda::resident_row_times<group>(this->values + row.begin, this->columns + row.begin, chunk_rows, row.count,
                                           lane, u + row.base);
  }
};

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
        narrow_kernels_(chunk_rows_, mean_length(matrix), most_blocks(matrix)),
        kernels_(chunk_rows_, mean_length(matrix), most_blocks(matrix)),
        parts_(std::max(narrow_kernels_.blocks, kernels_.blocks)) {
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
  std::unique_ptr<ResidentCg<T>> resident_cg() const override {
    return bases_.size() > 0 ? resident_with(narrow_columns_.data(), bases_.data())
                             : resident_with(columns_.data(), static_cast<const std::int32_t*>(nullptr));
  }

  Footprint footprint() const override {
    const std::int64_t bytes = values_.bytes() + columns_.bytes() + narrow_columns_.bytes() + bases_.bytes() +
                               offsets_.bytes() + places_.bytes();
    return stored_footprint<T>(this->size(), nonzeros_, values_.size(), bytes, bytes);
  }

 private:
  static std::int64_t most_blocks(const CsrMatrix<T>& matrix) {
    return std::max<std::int64_t>(1, (std::int64_t{matrix.rows} + block_threads - 1) / block_threads);
  }
  static double mean_length(const CsrMatrix<T>& matrix) {
    return static_cast<double>(matrix.nonzeros()) / std::max(1, matrix.rows);
  }
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    if (bases_.size() > 0)
      launch_with(narrow_kernels_, narrow_columns_.data(), bases_.data(), x, y, energy);
    else
      launch_with(kernels_, columns_.data(), static_cast<const std::int32_t*>(nullptr), x, y, energy);
  }
  template <class Column>
  Chunks<T, Column> chunks(const Column* columns, const std::int32_t* bases) const {
    return {this->size(), offsets_.data(), columns, values_.data(), places_.size() > 0 ? places_.data() : nullptr,
            bases};
  }
  template <class Column>
  std::unique_ptr<ResidentCg<T>> resident_with(const Column* columns, const std::int32_t* bases) const {
    using Loop = cuda::ResidentRows<T, SellByRows<T, Column>>;
    if (this->size() == 0 || this->size() > Loop::most_rows()) return nullptr;
    return std::make_unique<Loop>(SellByRows<T, Column>(chunks(columns, bases), chunk_rows_),
                                  static_cast<double>(nonzeros_) / this->size());
  }
  template <class Column>
  void launch_with(const SellKernels<T, Column>& kernels, const Column* columns, const std::int32_t* bases,
                   const Vector<T>& x, Vector<T>& y, Scalar* energy) const {
    const Chunks<T, Column> a = chunks(columns, bases);
    const std::int64_t blocks =
        std::clamp<std::int64_t>((this->size() + block_threads - 1) / block_threads, 1, kernels.blocks);
    cuda::launch(energy != nullptr ? kernels.with_energy : kernels.without, blocks, block_threads, 0, a, x.data(),
                 y.data(), energy != nullptr ? energy->data() : nullptr, parts_.parts());
  }

  std::int64_t nonzeros_;
  int chunk_rows_;
  Vector<std::int64_t> offsets_;
  Vector<T> values_;
  Vector<std::int32_t> places_;
  Vector<T> diagonal_;  ///< on the host
  SellKernels<T, std::uint16_t> narrow_kernels_;
  SellKernels<T, std::int32_t> kernels_;
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
