// ELLPACK and ELLPACK-R on the GPU: a thread per row, so that a warp reads entry k of 32 neighbouring rows at once;
// four entries of a row and the next four are in flight together. ELLPACK multiplies its padding, width (sizeof(T) + 4)
// bytes per row (Bell & Garland 2009); ELLPACK-R stops at each row's length, which is read too (Kreutzer et al. 2012,
// listing 1).

#include "operators/ellpack/ellpack_matrix.hpp"
#include "operators/sparse/conversion.cuh"
#include "operators/sparse/slots.cuh"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256;
template <class T>
constexpr int resident_blocks = sizeof(T) == 8 ? 4 : 5;  ///< a multiprocessor: at most 64 registers per thread, or 48

template <class T>
struct Padded {
  std::int64_t rows;
  std::int32_t width;
  const std::int32_t* lengths;  ///< null: every row has `width`
  cuda::Slots<T> slots;         ///< rows, in whole groups
};

template <class T, bool with_energy>
__global__ void __launch_bounds__(block_threads, resident_blocks<T>)
    ellpack_kernel(Padded<T> a, const T* x, T* y, double* energy, cuda::Parts<1> parts) {
  double of_thread = 0;
  cuda::multiply_slots(
      a.slots, x, [&](std::int64_t row) { return a.lengths == nullptr ? a.width : cuda::load_once(a.lengths + row); },
      [&](std::int64_t row, T sum) {
        if (row >= a.rows) return;
        y[row] = sum;
        if constexpr (with_energy) of_thread += cuda::energy_of_row(__ldg(x + row), sum);
      });
  if constexpr (with_energy) cuda::give_energy(of_thread, energy, parts);
}

/// A thread per row moves it with its padding: neighbouring threads write neighbouring entries.
template <class T>
struct EllpackMap {
  cuda::Source<T> source;
  Padded<T> a;
  __device__ std::int64_t count(std::int64_t) const { return a.width; }
  __device__ std::int64_t from(std::int64_t row, std::int64_t k) const {
    return cuda::padded_place(source, a.rows, row, k);
  }
  __device__ std::int64_t to(std::int64_t row, std::int64_t k) const { return k * a.slots.count + row; }
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
    return {a_.rows,
            static_cast<std::int32_t>(a_.width),
            a_.lengths.size() > 0 ? a_.lengths.data() : nullptr,
            {a_.stride, a_.columns.data(), a_.values.data()}};
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
