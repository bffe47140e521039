// Jagged diagonals on the GPU: a thread a position, so that a warp reads 32 neighbouring entries of a diagonal, whole
// sectors where the diagonal is long; four entries of a row are in flight together. Neighbouring positions have rows of
// one length, and no lane waits for another's longer row. y is written at the row's place; in matrices of finite
// elements rows of one length have small gaps between them, which the L2 cache fills.
//
// Moves sizeof(T) + 4 bytes per nonzero, 2 sizeof(T) + 8 an unknown. One thread takes a row: a matrix with a few very
// long rows is sell's or csr's.
//
// Li & Saad 2013, "GPU-accelerated preconditioned iterative linear solvers"; Wang, Gu & Li 2017.

#include "operators/backend/cuda/product.cuh"
#include "operators/jad/jad_matrix.hpp"
#include "operators/sparse/conversion.cuh"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256;

/// JaggedDiagonals as plain pointers.
template <class T>
struct Diagonals {
  std::int32_t rows;
  const std::int64_t* offsets;
  const std::int32_t* lengths;
  const std::int32_t* places;
  const std::int32_t* columns;
  const T* values;
};

template <class T, bool with_energy>
__global__ void __launch_bounds__(block_threads)
    jad_kernel(Diagonals<T> a, const T* x, T* y, double* energy, cuda::Parts<1> parts) {
  double of_thread = 0;
  const std::int64_t threads = std::int64_t{gridDim.x} * block_threads;
  for (std::int64_t position = std::int64_t{blockIdx.x} * block_threads + threadIdx.x; position < a.rows;
       position += threads) {
    const std::int32_t length = cuda::load_once(a.lengths + position), row = cuda::load_once(a.places + position);
    const T sum = cuda::row_times_vector(a.values, a.columns, x, length,
                                         [&](std::int32_t k) { return __ldg(a.offsets + k) + position; });
    y[row] = sum;
    if constexpr (with_energy) of_thread += cuda::energy_of_row(__ldg(x + row), sum);
  }
  if constexpr (with_energy) cuda::give_energy(of_thread, energy, parts);
}

/// A thread a position moves its row: neighbouring threads write neighbouring entries.
template <class T>
struct JadMap {
  const std::int64_t* row_offsets;  ///< of the source
  Diagonals<T> a;
  __device__ std::int64_t count(std::int64_t position) const { return a.lengths[position]; }
  __device__ std::int64_t from(std::int64_t position, std::int64_t k) const {
    return row_offsets[a.places[position]] + k;
  }
  __device__ std::int64_t to(std::int64_t position, std::int64_t k) const { return a.offsets[k] + position; }
};

template <std::floating_point T>
class CudaJad final : public Operator<T> {
 public:
  CudaJad(const JaggedDiagonals<T>& lists, const CsrMatrix<T>& matrix, Vector<T> diagonal)
      : Operator<T>(lists.rows, Device::cuda),
        a_{lists.rows,
           lists.nonzeros,
           lists.entries,
           copied(lists.offsets, Device::cuda),
           copied(lists.lengths, Device::cuda),
           copied(lists.places, Device::cuda),
           Vector<std::int32_t>(lists.entries, Device::cuda),
           Vector<T>(lists.entries, Device::cuda)},
        diagonal_(std::move(diagonal)) {
    const cuda::SourceOnGpu<T> source(matrix);
    cuda::move_entries(a_.rows, JadMap<T>{source.pointers().offsets, pointers()}, source, a_.columns, a_.values);
  }

  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  Footprint footprint() const override { return footprint_of(a_); }

 private:
  Diagonals<T> pointers() const {
    return {a_.rows, a_.offsets.data(), a_.lengths.data(), a_.places.data(), a_.columns.data(), a_.values.data()};
  }
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    product_(pointers(), a_.rows, x, y, energy);
  }

  JaggedDiagonals<T> a_;
  Vector<T> diagonal_;  ///< on the host
  cuda::Product<T, Diagonals<T>> product_{jad_kernel<T, false>, jad_kernel<T, true>, block_threads};
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_jad_cuda(const JaggedDiagonals<T>& lists, const CsrMatrix<T>& matrix,
                                           Vector<T> diagonal) {
  return std::make_unique<CudaJad<T>>(lists, matrix, std::move(diagonal));
}

template std::unique_ptr<Operator<double>> make_jad_cuda(const JaggedDiagonals<double>&, const CsrMatrix<double>&,
                                                         Vector<double>);
template std::unique_ptr<Operator<float>> make_jad_cuda(const JaggedDiagonals<float>&, const CsrMatrix<float>&,
                                                        Vector<float>);

}  // namespace femcg::operators
