// The cooperative way over compressed rows: `coop` threads a row, each group `repeat` rows one after the other, blocks
// of `block_size` (Reguly & Giles 2012, figure 3). Moves sizeof(Value) + 4 bytes a nonzero, 2 sizeof(T) + 8 a row.
// Sums have one order: two runs give the same bits.

#include <algorithm>

#include "operators/csr/csr_cuda.hpp"
#include "operators/cuda_sum.cuh"
#include "operators/stored_footprint.hpp"
#include "operators/value_words.hpp"

namespace femcg::operators {

namespace {

template <class Value>
struct Rows {
  std::int32_t rows;
  const std::int64_t* offsets;
  const Value* values;
};

template <class T, class Value, int coop, bool with_energy>
__global__ void cooperative_kernel(Rows<Value> a, const std::int32_t* columns, int repeat, const T* x, T* y,
                                   double* energy, cuda::Parts<1> parts) {
  const int groups = static_cast<int>(blockDim.x) / coop;
  const int lane = static_cast<int>(threadIdx.x) % coop, group = static_cast<int>(threadIdx.x) / coop;
  const std::int64_t rows_a_block = std::int64_t{groups} * repeat;
  double sums[1] = {0};
  for (std::int64_t block = blockIdx.x; block * rows_a_block < a.rows; block += gridDim.x) {
    for (int r = 0; r < repeat; ++r) {
      const std::int64_t row = block * rows_a_block + std::int64_t{r} * groups + group;
      T sum = 0;
      if (row < a.rows) {
        const std::int64_t end = a.offsets[row + 1];
        for (std::int64_t k = a.offsets[row] + lane; k < end; k += coop)
          sum += static_cast<T>(__ldcs(a.values + k)) * __ldg(x + __ldcs(columns + k));
      }
#pragma unroll
      for (int distance = coop / 2; distance > 0; distance /= 2)
        sum += __shfl_down_sync(cuda::all_lanes, sum, distance, coop);
      if (row < a.rows && lane == 0) {
        y[row] = sum;
        if constexpr (with_energy) sums[0] += static_cast<double>(sum) * static_cast<double>(x[row]);
      }
    }
  }
  if constexpr (with_energy) cuda::sum_of_grid(sums, parts, [&](const double(&results)[1]) { *energy = results[0]; });
}

template <class T, class Value>
using CooperativeKernel = void (*)(Rows<Value>, const std::int32_t*, int, const T*, T*, double*, cuda::Parts<1>);

template <class T, class Value, bool with_energy>
CooperativeKernel<T, Value> cooperative_kernel_of(int coop) {
  switch (coop) {
    case 1:
      return cooperative_kernel<T, Value, 1, with_energy>;
    case 2:
      return cooperative_kernel<T, Value, 2, with_energy>;
    case 4:
      return cooperative_kernel<T, Value, 4, with_energy>;
    case 8:
      return cooperative_kernel<T, Value, 8, with_energy>;
    case 16:
      return cooperative_kernel<T, Value, 16, with_energy>;
    default:
      return cooperative_kernel<T, Value, 32, with_energy>;
  }
}

template <std::floating_point T, std::floating_point Value>
class CooperativeCsr final : public Operator<T> {
 public:
  CooperativeCsr(const CsrMatrix<Value>& matrix, Vector<T> diagonal, const CsrLaunch& launch)
      : Operator<T>(matrix.rows, Device::cuda),
        launch_(launch),
        offsets_(copied(matrix.row_offsets, Device::cuda)),
        columns_(copied(matrix.columns, Device::cuda)),
        values_(copied(matrix.values, Device::cuda)),
        diagonal_(std::move(diagonal)),
        kernel_(cooperative_kernel_of<T, Value, true>(launch.coop)),
        kernel_without_energy_(cooperative_kernel_of<T, Value, false>(launch.coop)),
        blocks_(cuda::resident_blocks(kernel_, launch.block_size)),
        parts_(blocks_) {}

  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  Footprint footprint() const override {
    const std::int64_t bytes = offsets_.bytes() + columns_.bytes() + values_.bytes();
    return with_vectors_of<T, Value>(
        stored_footprint<Value>(this->size(), values_.size(), values_.size(), bytes, bytes), this->size());
  }

 private:
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    const Rows<Value> rows{this->size(), offsets_.data(), values_.data()};
    const std::int64_t rows_a_block = std::int64_t{launch_.block_size / launch_.coop} * launch_.repeat;
    const std::int64_t blocks = std::clamp<std::int64_t>((this->size() + rows_a_block - 1) / rows_a_block, 1, blocks_);
    cuda::launch(energy != nullptr ? kernel_ : kernel_without_energy_, blocks, launch_.block_size, 0, rows,
                 columns_.data(), launch_.repeat, x.data(), y.data(), energy != nullptr ? energy->data() : nullptr,
                 parts_.parts());
  }

  CsrLaunch launch_;
  Vector<std::int64_t> offsets_;
  Vector<std::int32_t> columns_;
  Vector<Value> values_;
  Vector<T> diagonal_;  ///< on the host
  CooperativeKernel<T, Value> kernel_, kernel_without_energy_;
  std::int64_t blocks_;
  mutable cuda::PartsStorage<1> parts_;
};

}  // namespace

template <std::floating_point T, std::floating_point Value>
std::unique_ptr<Operator<T>> make_cooperative_csr(const CsrMatrix<Value>& matrix, Vector<T> diagonal,
                                                  const CsrLaunch& launch) {
  return std::make_unique<CooperativeCsr<T, Value>>(matrix, std::move(diagonal), launch);
}

template std::unique_ptr<Operator<double>> make_cooperative_csr(const CsrMatrix<double>&, Vector<double>,
                                                                const CsrLaunch&);
template std::unique_ptr<Operator<double>> make_cooperative_csr(const CsrMatrix<float>&, Vector<double>,
                                                                const CsrLaunch&);
template std::unique_ptr<Operator<float>> make_cooperative_csr(const CsrMatrix<float>&, Vector<float>,
                                                               const CsrLaunch&);

}  // namespace femcg::operators
