// Transfers with a stored prolongation on a GPU: 8 lanes per row of the matrix or of its transpose share the row's
// entries; with several vectors one lane per vector, and as many groups of lanes as make 8.

#include <type_traits>
#include <utility>

#include "operators/backend/launch.cuh"
#include "operators/backend/permutation.hpp"
#include "operators/transfers/transfer.hpp"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256;

std::int64_t blocks_for(std::int64_t threads) { return cuda::blocks_of(threads, block_threads); }

constexpr int lanes_of(int stride) { return stride > 8 ? stride : 8; }

/// y_i = sum_k value_k (x - q)_column_k, added to y if `adds`; q may be null. Rows of x, q and y have `stride` values.
template <class T, bool adds, int stride>
__global__ void __launch_bounds__(block_threads)
    rows_kernel(std::int64_t rows, const std::int64_t* offsets, const std::int32_t* columns, const T* values,
                const T* x, const T* q, T* y) {
  constexpr int lanes = lanes_of(stride);
  const std::int64_t row = cuda::thread_number() / lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes, c = lane % stride;
  T sum = 0;
  if (row < rows)
    for (std::int64_t k = offsets[row] + lane / stride; k < offsets[row + 1]; k += lanes / stride) {
      const std::int64_t at = std::int64_t{columns[k]} * stride + c;
      sum = fma(values[k], q != nullptr ? x[at] - q[at] : x[at], sum);
    }
  for (int distance = lanes / 2; distance >= stride; distance /= 2)
    sum += __shfl_xor_sync(cuda::all_lanes, sum, distance, lanes);
  const std::int64_t i = row * stride + c;
  if (row < rows && lane < stride) y[i] = adds ? y[i] + sum : sum;
}

template <std::floating_point T>
struct CudaRows {
  /// Takes a matrix that is on the GPU.
  explicit CudaRows(RectangularMatrix of)
      : count(of.rows), offsets(std::move(of.row_offsets)), columns(std::move(of.column)) {
    if constexpr (std::is_same_v<T, double>) {
      values = std::move(of.value);
    } else {
      values = Vector<T>(of.value.size(), Device::cuda);
      gather_rows(of.value, {}, 1, values);
      synchronize(Device::cuda);  // before the values in double precision are freed
    }
  }
  std::int64_t bytes() const { return offsets.bytes() + columns.bytes() + values.bytes(); }
  template <bool adds>
  void multiply(const T* x, const T* q, int stride, Vector<T>& y) const {
    with_any_stride(stride, [&]<int w>() {
      cuda::launch(rows_kernel<T, adds, w>, blocks_for(count * lanes_of(w)), block_threads, 0, count, offsets.data(),
                   columns.data(), values.data(), x, q, y.data());
    });
  }

  std::int64_t count;
  Vector<std::int64_t> offsets;
  Vector<std::int32_t> columns;
  Vector<T> values;
};

template <std::floating_point T>
class CudaMatrixTransfer final : public Transfer<T> {
 public:
  explicit CudaMatrixTransfer(RectangularMatrix prolongation)
      : restriction_(transposed(prolongation)), prolongation_(std::move(prolongation)) {}

  void prolong_rows(const Vector<T>& coarse, int stride, Vector<T>& fine) const override {
    prolongation_.template multiply<true>(coarse.data(), nullptr, stride, fine);
  }
  void restrict_rows(const Vector<T>& r, const Vector<T>& q, int stride, Vector<T>& coarse) const override {
    restriction_.template multiply<false>(r.data(), q.data(), stride, coarse);
  }
  std::int64_t stored_bytes() const override { return prolongation_.bytes() + restriction_.bytes(); }

 private:
  CudaRows<T> restriction_, prolongation_;
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_cuda_matrix_transfer(const RectangularMatrix& prolongation) {
  return std::make_unique<CudaMatrixTransfer<T>>(copied(prolongation, Device::cuda));
}

template std::unique_ptr<Transfer<double>> make_cuda_matrix_transfer(const RectangularMatrix&);
template std::unique_ptr<Transfer<float>> make_cuda_matrix_transfer(const RectangularMatrix&);

}  // namespace femcg::operators
