// ELLR-T on the GPU: T threads per row, thread t of row i at slot i T + t. In each step a warp reads 32 neighbouring
// entries, T of each of 32 / T rows; four steps and the next four are in flight together. A row's threads stop at its
// own last step, and add up what they have by shuffles.
//
// Moves sizeof(T) + 4 bytes per entry, rows padded to a multiple of T, and 2 sizeof(T) + 4 an unknown.
//
// Vazquez, Fernandez & Garzon 2012, "Automatic tuning of the sparse matrix vector product on GPUs based on the ELLR-T
// approach"; Ortega et al. 2013.

#include "operators/ellr_t/ellr_t_matrix.hpp"
#include "operators/sparse/conversion.cuh"
#include "operators/sparse/slots.cuh"

namespace femcg::operators {

namespace {

constexpr int most_block_threads = 1024;

/// EllrTMatrix as plain pointers.
template <class T>
struct Steps {
  std::int64_t rows;
  const std::int32_t* of_row;
  cuda::Slots<T> slots;
};

template <class T, int threads_per_row, bool with_energy>
__global__ void __launch_bounds__(most_block_threads)
    ellr_t_kernel(Steps<T> a, const T* x, T* y, double* energy, cuda::Parts<1> parts) {
  double of_thread = 0;
  cuda::multiply_slots(
      a.slots, x, [&](std::int64_t slot) { return cuda::load_once(a.of_row + slot / threads_per_row); },
      [&](std::int64_t slot, T of_slot) {
        const T sum = cuda::sum_of_lanes<threads_per_row>(of_slot);
        const std::int64_t row = slot / threads_per_row;
        if (slot % threads_per_row != 0 || row >= a.rows) return;
        y[row] = sum;
        if constexpr (with_energy) of_thread += cuda::energy_of_row(__ldg(x + row), sum);
      });
  if constexpr (with_energy) cuda::give_energy(of_thread, energy, parts);
}

template <class T>
cuda::Product<T, Steps<T>> product_of(int threads_per_row, int block_size) {
  return cuda::with_threads_per_row(threads_per_row, [&]<int threads>() {
    return cuda::Product<T, Steps<T>>(ellr_t_kernel<T, threads, false>, ellr_t_kernel<T, threads, true>, block_size);
  });
}

/// A thread per slot moves what that slot multiplies. A row's last step is padded with zeros at its last column; beyond
/// it nothing is read.
template <class T>
struct EllrTMap {
  const std::int64_t* row_offsets;  ///< of the source
  std::int64_t threads;             ///< a row
  Steps<T> a;
  __device__ std::int64_t count(std::int64_t slot) const { return a.of_row[slot / threads]; }
  __device__ std::int64_t from(std::int64_t slot, std::int64_t k) const {
    const std::int64_t row = slot / threads, at = row_offsets[row] + k * threads + slot % threads;
    const std::int64_t last = row_offsets[row + 1] - 1;
    return at <= last ? at : ~last;
  }
  __device__ std::int64_t to(std::int64_t slot, std::int64_t k) const { return k * a.slots.count + slot; }
};

template <std::floating_point T>
class CudaEllrT final : public Operator<T> {
 public:
  CudaEllrT(const EllrTMatrix<T>& list, int block_size, const CsrMatrix<T>& matrix, Vector<T> diagonal)
      : Operator<T>(list.rows, Device::cuda),
        a_{list.rows,
           list.nonzeros,
           list.threads,
           list.most_steps,
           list.slots,
           list.steps_in_all,
           copied(list.steps, Device::cuda),
           Vector<std::int32_t>(list.entries(), Device::cuda),
           Vector<T>(list.entries(), Device::cuda)},
        diagonal_(std::move(diagonal)),
        product_(product_of<T>(list.threads, block_size)) {
    const cuda::SourceOnGpu<T> source(matrix);
    cuda::move_entries(std::int64_t{a_.rows} * a_.threads,
                       EllrTMap<T>{source.pointers().offsets, a_.threads, pointers()}, source, a_.columns, a_.values);
  }

  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  std::map<std::string, std::string> chosen() const override { return {{"T", std::to_string(a_.threads)}}; }
  Footprint footprint() const override { return footprint_of(a_); }

 private:
  Steps<T> pointers() const { return {a_.rows, a_.steps.data(), {a_.slots, a_.columns.data(), a_.values.data()}}; }
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    product_(pointers(), a_.slots, x, y, energy);
  }

  EllrTMatrix<T> a_;
  Vector<T> diagonal_;  ///< on the host
  cuda::Product<T, Steps<T>> product_;
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_ellr_t_cuda(const EllrTMatrix<T>& list, int block_size, const CsrMatrix<T>& matrix,
                                              Vector<T> diagonal) {
  return std::make_unique<CudaEllrT<T>>(list, block_size, matrix, std::move(diagonal));
}

template std::unique_ptr<Operator<double>> make_ellr_t_cuda(const EllrTMatrix<double>&, int, const CsrMatrix<double>&,
                                                            Vector<double>);
template std::unique_ptr<Operator<float>> make_ellr_t_cuda(const EllrTMatrix<float>&, int, const CsrMatrix<float>&,
                                                           Vector<float>);

}  // namespace femcg::operators
