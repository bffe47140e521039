// Jagged diagonals on the GPU: one thread a position, so that a warp loads 32 contiguous entries of a diagonal, in
// whole sectors if the diagonal is long; four entries of a row are in flight together. Rows at adjacent positions have
// equal length, so that lanes do not wait for longer rows. y is scattered to the rows; in finite element matrices rows
// of one length have small gaps between them, which the L2 cache fills.
//
// Moves sizeof(T) + 4 bytes per nonzero, 2 sizeof(T) + 8 an unknown. As each row has one thread, matrices with a few
// very long rows are better in sell or csr.
//
// Li & Saad 2013, "GPU-accelerated preconditioned iterative linear solvers"; Wang, Gu & Li 2017.

#include "operators/stored/common/stored_operator.cuh"
#include "operators/stored/jad/jad.hpp"

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
  for (std::int64_t position = cuda::thread_number(); position < a.rows; position += threads) {
    const std::int32_t length = cuda::load_once(a.lengths + position), row = cuda::load_once(a.places + position);
    const T sum = cuda::row_times_vector(a.values, a.columns, x, length,
                                         [&](std::int32_t k) { return __ldg(a.offsets + k) + position; });
    y[row] = sum;
    if constexpr (with_energy) of_thread += cuda::energy_of_row(__ldg(x + row), sum);
  }
  if constexpr (with_energy) cuda::give_energy(of_thread, energy, parts);
}

template <std::floating_point T>
struct JadOnGpu {
  using Matrix = Diagonals<T>;
  using Format = JaggedDiagonals<T>;
  static Matrix pointers(const Format& a) {
    return {a.rows, a.offsets.data(), a.lengths.data(), a.places.data(), a.columns.data(), a.values.data()};
  }
  static cuda::Product<T, Matrix> product(const Format&) {
    return {jad_kernel<T, false>, jad_kernel<T, true>, block_threads};
  }
  static constexpr auto neighbours = cuda::Neighbours::of_column;
  static std::int64_t threads(const Format& a) { return a.rows; }
};

}  // namespace

Makers jad_on_gpu() { return cuda::stored_makers<JaggedDiagonals, JadOnGpu>(); }

}  // namespace femcg::operators
