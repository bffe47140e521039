// ELLPACK and ELLPACK-R on the GPU: one thread a row, so that a warp's loads of entry k of 32 neighbouring rows are
// contiguous; four entries of a row and the next four are in flight together. ELLPACK multiplies its padding, width
// (sizeof(T) + 4) bytes per row (Bell & Garland 2009); ELLPACK-R stops at each row's length, which is loaded too
// (Kreutzer et al. 2012, listing 1).

#include "operators/stored/common/slots.cuh"
#include "operators/stored/common/stored_operator.cuh"
#include "operators/stored/ellpack/ellpack.hpp"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256;
template <class T>
constexpr int resident_blocks = sizeof(T) == 8 ? 4 : 5;  ///< per multiprocessor: at most 64 registers per thread, or 48

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

template <std::floating_point T, Padding padding>
struct EllpackOnGpu {
  using Matrix = Padded<T>;
  using Format = EllpackFormat<T, padding>;
  static Matrix pointers(const Format& a) {
    return {a.rows,
            static_cast<std::int32_t>(a.width),
            a.lengths.size() > 0 ? a.lengths.data() : nullptr,
            {a.stride, a.columns.data(), a.values.data()}};
  }
  static cuda::Product<T, Matrix> product(const Format&) {
    return {ellpack_kernel<T, false>, ellpack_kernel<T, true>, block_threads};
  }
  static constexpr auto neighbours = cuda::Neighbours::of_column;
  static std::int64_t threads(const Format& a) { return a.rows; }
};

template <class T>
using MultiplyingPadding = EllpackOnGpu<T, Padding::multiplied>;
template <class T>
using SkippingPadding = EllpackOnGpu<T, Padding::skipped>;

}  // namespace

Makers ellpack_on_gpu() { return cuda::stored_makers<Ellpack, MultiplyingPadding>(); }
Makers ellpack_r_on_gpu() { return cuda::stored_makers<EllpackR, SkippingPadding>(); }

}  // namespace femcg::operators
