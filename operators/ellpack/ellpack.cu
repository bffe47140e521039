// ELLPACK and ELLPACK-R on the GPU: a thread a row, so that a warp reads entry k of 32 neighbouring rows at once; eight
// entries of a row are in flight together. ELLPACK multiplies its padding, width (sizeof(T) + 4) bytes a row (Bell &
// Garland 2009); ELLPACK-R stops at each row's length, which is read too (Kreutzer et al. 2012, listing 1).

#include <algorithm>

#include "operators/cuda_sum.cuh"
#include "operators/ellpack/ellpack_cuda.hpp"
#include "operators/stored_diagonal.hpp"
#include "operators/stored_footprint.hpp"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256;
constexpr int at_once = 8;  ///< entries of a row

template <class T>
struct Padded {
  std::int64_t rows, width, stride;
  const T* values;
  const std::int32_t* columns;
  const std::int32_t* lengths;  ///< null: every row has `width`
};

/// The first `length` entries of a row, `at_once` of them in flight together. Those that are one batch too many repeat
/// the last.
template <class T>
__device__ T sum_row(const Padded<T>& a, std::int64_t row, std::int64_t length, const T* x) {
  T sum = 0;
  for (std::int64_t k = 0; k < length; k += at_once) {
    std::int32_t column[at_once];
    T value[at_once], of_x[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const bool there = k + i < length;
      const std::int64_t entry = (there ? k + i : k) * a.stride + row;
      column[i] = __ldcs(a.columns + entry);
      value[i] = there ? __ldcs(a.values + entry) : T(0);
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) of_x[i] = __ldg(x + column[i]);
#pragma unroll
    for (int i = 0; i < at_once; ++i) sum += value[i] * of_x[i];
  }
  return sum;
}

template <class T, bool with_energy>
__global__ void __launch_bounds__(block_threads)
    ellpack_kernel(Padded<T> a, const T* x, T* y, double* energy, cuda::Parts<1> parts) {
  double sums[1] = {0};
  const std::int64_t threads = std::int64_t{gridDim.x} * block_threads;
  for (std::int64_t row = std::int64_t{blockIdx.x} * block_threads + threadIdx.x; row < a.rows; row += threads) {
    const T sum = sum_row(a, row, a.lengths == nullptr ? a.width : a.lengths[row], x);
    y[row] = sum;
    if constexpr (with_energy) sums[0] += static_cast<double>(sum) * static_cast<double>(x[row]);
  }
  if constexpr (with_energy) cuda::sum_of_grid(sums, parts, [&](const double(&results)[1]) { *energy = results[0]; });
}

template <std::floating_point T>
class CudaEllpack final : public Operator<T> {
 public:
  CudaEllpack(const CsrMatrix<T>& matrix, const EllpackArrays<T>& arrays)
      : Operator<T>(matrix.rows, Device::cuda),
        nonzeros_(arrays.nonzeros),
        width_(arrays.width),
        stride_(arrays.stride),
        values_(copied(*arrays.values, Device::cuda)),
        columns_(copied(*arrays.columns, Device::cuda)),
        diagonal_(diagonal_of(matrix)),
        blocks_(std::clamp<std::int64_t>((std::int64_t{matrix.rows} + block_threads - 1) / block_threads, 1,
                                         cuda::resident_blocks(ellpack_kernel<T, true>, block_threads))),
        parts_(blocks_) {
    if (arrays.lengths != nullptr) lengths_ = copied(*arrays.lengths, Device::cuda);
  }

  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }

  Footprint footprint() const override {
    constexpr std::int64_t entry_bytes = sizeof(T) + sizeof(std::int32_t);
    const std::int64_t stored = values_.bytes() + columns_.bytes() + lengths_.bytes();
    const std::int64_t read = lengths_.size() > 0 ? nonzeros_ * entry_bytes + lengths_.bytes() : stored;
    return stored_footprint<T>(this->size(), nonzeros_, values_.size(), stored, read);
  }

 private:
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    const Padded<T> a{this->size(),   width_,          stride_,
                      values_.data(), columns_.data(), lengths_.size() > 0 ? lengths_.data() : nullptr};
    const auto kernel = energy != nullptr ? ellpack_kernel<T, true> : ellpack_kernel<T, false>;
    cuda::launch(kernel, blocks_, block_threads, 0, a, x.data(), y.data(), energy != nullptr ? energy->data() : nullptr,
                 parts_.parts());
  }

  std::int64_t nonzeros_, width_, stride_;
  Vector<T> values_;
  Vector<std::int32_t> columns_;
  Vector<std::int32_t> lengths_;  ///< ELLPACK-R only
  Vector<T> diagonal_;            ///< on the host
  std::int64_t blocks_;
  mutable cuda::PartsStorage<1> parts_;
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_ellpack_cuda(const CsrMatrix<T>& matrix, const EllpackArrays<T>& arrays) {
  return std::make_unique<CudaEllpack<T>>(matrix, arrays);
}

template std::unique_ptr<Operator<double>> make_ellpack_cuda(const CsrMatrix<double>&, const EllpackArrays<double>&);
template std::unique_ptr<Operator<float>> make_ellpack_cuda(const CsrMatrix<float>&, const EllpackArrays<float>&);

}  // namespace femcg::operators
