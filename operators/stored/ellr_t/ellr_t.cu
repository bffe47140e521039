// ELLR-T on the GPU: T threads per row, thread t of row i at slot i T + t. In each step a warp's load is of 32
// contiguous entries, T of each of 32 / T rows; four steps and the next four are in flight together. A row's threads
// stop at its own last step, and add up their sums by shuffles.
//
// Moves sizeof(T) + 4 bytes per entry, rows padded to a multiple of T, and 2 sizeof(T) + 4 an unknown.
//
// Vazquez, Fernandez & Garzon 2012, "Automatic tuning of the sparse matrix vector product on GPUs based on the ELLR-T
// approach"; Ortega et al. 2013.

#include "operators/stored/common/slots.cuh"
#include "operators/stored/common/stored_operator.cuh"
#include "operators/stored/ellr_t/ellr_t.hpp"

namespace femcg::operators {

namespace {

constexpr int most_block_threads = 1024;

/// EllrT as plain pointers.
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

template <std::floating_point T>
struct EllrTOnGpu {
  using Matrix = Steps<T>;
  using Format = EllrT<T>;
  static Matrix pointers(const Format& a) {
    return {a.rows, a.steps.data(), {a.slots, a.columns.data(), a.values.data()}};
  }
  static cuda::Product<T, Matrix> product(const Format& a) {
    return cuda::with_threads_per_row(a.threads, [&]<int threads>() {
      return cuda::Product<T, Matrix>(ellr_t_kernel<T, threads, false>, ellr_t_kernel<T, threads, true>, a.block_size);
    });
  }
  static constexpr auto neighbours = cuda::Neighbours::of_column;
  static std::int64_t threads(const Format& a) { return a.slots; }
};

}  // namespace

Makers ellr_t_on_gpu() { return cuda::stored_makers<EllrT, EllrTOnGpu>(); }

}  // namespace femcg::operators
