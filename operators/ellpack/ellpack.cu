// ELLPACK and ELLPACK-R on the GPU: a thread a row, so that a warp reads entry k of 32 neighbouring rows at once; eight
// entries of a row are in flight together. ELLPACK multiplies its padding, width (sizeof(T) + 4) bytes a row (Bell &
// Garland 2009); ELLPACK-R stops at each row's length, which is read too (Kreutzer et al. 2012, listing 1).

#include "operators/cuda_conversion.cuh"
#include "operators/cuda_product.cuh"
#include "operators/ellpack/ellpack_matrix.hpp"

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
  double of_thread = 0;
  const std::int64_t threads = std::int64_t{gridDim.x} * block_threads;
  for (std::int64_t row = std::int64_t{blockIdx.x} * block_threads + threadIdx.x; row < a.rows; row += threads) {
    const T sum = sum_row(a, row, a.lengths == nullptr ? a.width : a.lengths[row], x);
    y[row] = sum;
    if constexpr (with_energy) of_thread += cuda::energy_of_row(x[row], sum);
  }
  if constexpr (with_energy) cuda::give_energy(of_thread, energy, parts);
}

/// A thread a row moves it with its padding: neighbouring threads write neighbouring entries.
template <class T>
struct EllpackMap {
  cuda::Source<T> source;
  Padded<T> a;
  __device__ std::int64_t count(std::int64_t) const { return a.width; }
  __device__ std::int64_t from(std::int64_t row, std::int64_t k) const {
    return cuda::padded_place(source, a.rows, row, k);
  }
  __device__ std::int64_t to(std::int64_t row, std::int64_t k) const { return k * a.stride + row; }
};

template <std::floating_point T>
class CudaEllpack final : public Operator<T> {
 public:
  CudaEllpack(const EllpackMatrix<T>& lists, const CsrMatrix<T>& matrix, Vector<T> diagonal)
      : Operator<T>(lists.rows, Device::cuda),
        a_{lists.rows,
           lists.nonzeros,
           lists.width,
           lists.stride,
           copied(lists.lengths, Device::cuda),
           Vector<std::int32_t>(lists.entries(), Device::cuda),
           Vector<T>(lists.entries(), Device::cuda)},
        diagonal_(std::move(diagonal)) {
    const cuda::SourceOnGpu<T> source(matrix);
    cuda::move_entries(a_.stride, EllpackMap<T>{source.pointers(), pointers()}, source, a_.columns, a_.values);
  }

  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  Footprint footprint() const override { return footprint_of(a_); }

 private:
  Padded<T> pointers() const {
    return {a_.rows,          a_.width,          a_.stride,
            a_.values.data(), a_.columns.data(), a_.lengths.size() > 0 ? a_.lengths.data() : nullptr};
  }
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    product_(pointers(), a_.rows, x, y, energy);
  }

  EllpackMatrix<T> a_;
  Vector<T> diagonal_;  ///< on the host
  cuda::Product<T, Padded<T>> product_{ellpack_kernel<T, false>, ellpack_kernel<T, true>, block_threads};
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_ellpack_cuda(const EllpackMatrix<T>& lists, const CsrMatrix<T>& matrix,
                                               Vector<T> diagonal) {
  return std::make_unique<CudaEllpack<T>>(lists, matrix, std::move(diagonal));
}

template std::unique_ptr<Operator<double>> make_ellpack_cuda(const EllpackMatrix<double>&, const CsrMatrix<double>&,
                                                             Vector<double>);
template std::unique_ptr<Operator<float>> make_ellpack_cuda(const EllpackMatrix<float>&, const CsrMatrix<float>&,
                                                            Vector<float>);

}  // namespace femcg::operators
