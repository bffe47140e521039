// csr-bitmask on the GPU: one warp a tile. With multi-vectors its steps are matrix instructions in double precision
// (bitmask_tiles.cuh), also for vectors in single precision; with one vector each lane adds up its entries, and the
// four lanes of a row are added up at the end. Moves what is stored (csr_bitmask.cpp), and 2 k sizeof(T) a row.
//
// Sums are in a fixed order: two runs give the same bits.

#include "operators/backend/cuda/factor_multi_vector.cuh"
#include "operators/backend/cuda/product.cuh"
#include "operators/stored/common/stored_diagonal.hpp"
#include "operators/stored/csr_bitmask/bitmask_tiles.cuh"
#include "operators/stored/csr_bitmask/csr_bitmask.hpp"

namespace femcg::operators {

namespace {

using cuda::columns_threads;

/// Blocks per multiprocessor.
template <int stride, bool with_energies>
constexpr int resident = stride <= 4    ? 4
                         : stride == 8  ? (with_energies ? 4 : 5)
                         : stride == 16 ? (with_energies ? 3 : 4)
                                        : (with_energies ? 2 : 3);

template <class Rows>
__device__ cuda::TilesOfWarp<Rows> tiles_of_warp(const Rows& a) {
  constexpr std::int64_t warps = columns_threads / cuda::threads_per_warp;
  return {a, blockIdx.x * warps + threadIdx.x / cuda::threads_per_warp, gridDim.x * warps};
}

template <class T, class Rows, bool with_energy>
__global__ void __launch_bounds__(columns_threads, 4)
    bitmask_kernel(Rows a, const T* x, T* y, double* energy, cuda::Parts<1> parts) {
  const int lane = static_cast<int>(threadIdx.x) % cuda::threads_per_warp;
  double of_thread = 0;
  for (auto tiles = tiles_of_warp(a); tiles.has_tile(); tiles.go_on()) {
    const T sum = cuda::sum_of_lanes<columns_per_step>(cuda::multiply_tile(tiles, x));
    const std::int64_t row = tiles.row();
    if (lane % columns_per_step != 0 || row >= a.rows) continue;
    y[row] = sum;
    if constexpr (with_energy) of_thread += cuda::energy_of_row(__ldg(x + row), sum);
  }
  if constexpr (with_energy) cuda::give_energy(of_thread, energy, parts);
}

template <class T, int stride, class Rows, bool with_energies>
__global__ void __launch_bounds__(columns_threads, resident<stride, with_energies>)
    bitmask_columns_kernel(Rows a, const T* x, T* y, double* energies, cuda::ColumnParts parts) {
  using Layout = cuda::FactorFragment<stride>;
  const int lane = static_cast<int>(threadIdx.x) % cuda::threads_per_warp;
  double products[Layout::numbers] = {};
  for (auto tiles = tiles_of_warp(a); tiles.has_tile(); tiles.go_on()) {
    const typename Layout::Sums sums = cuda::multiply_tile<stride>(tiles, x);
    const std::int64_t row = tiles.row();
    if (row >= a.rows) continue;
    Layout::store(sums, y + row * stride, lane);
    if constexpr (with_energies) Layout::add_products(x + row * stride, sums, lane, products);
  }
  if constexpr (with_energies) cuda::give_energies<Layout>(products, energies, parts);
}

template <std::floating_point T>
class CudaCsrBitmask final : public Operator<T> {
 public:
  explicit CudaCsrBitmask(const CsrMatrix<T>& matrix)
      : Operator<T>(matrix.rows, Device::cuda), a_(tiles_of(matrix)), diagonal_(diagonal_of(matrix)) {
    allocate_on(a_, Device::cuda);
  }

  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  Footprint footprint() const override { return footprint_of_tiles(a_); }
  std::map<std::string, std::string> chosen() const override { return choice_of_tiles(a_); }

 private:
  template <class Rows>
  static cuda::Product<T, Rows> product_of() {
    return {bitmask_kernel<T, Rows, false>, bitmask_kernel<T, Rows, true>, columns_threads};
  }
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    a_.with_pointers([&]<class Rows>(const Rows& a) {
      const std::int64_t threads = a.tile_count() * cuda::threads_per_warp;
      if constexpr (std::is_same_v<typename Rows::Column, std::uint16_t>)
        narrow_(a, threads, x, y, energy);
      else
        wide_(a, threads, x, y, energy);
    });
  }
  void multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const override {
    a_.with_pointers([&]<class Rows>(const Rows& a) {
      with_stride(x.stride(), [&]<int stride>() {
        const auto kernel = energies != nullptr ? bitmask_columns_kernel<T, stride, Rows, true>
                                                : bitmask_columns_kernel<T, stride, Rows, false>;
        warps_.launch_warps(kernel, a.tile_count(), a, x, y, energies);
      });
    });
  }

  BitmaskMatrix<T> a_;  ///< on the GPU
  Vector<T> diagonal_;  ///< on the host
  cuda::Product<T, BitmaskRows<std::uint16_t, T>> narrow_ = product_of<BitmaskRows<std::uint16_t, T>>();
  cuda::Product<T, BitmaskRows<std::int32_t, T>> wide_ = product_of<BitmaskRows<std::int32_t, T>>();
  cuda::WarpsOfMultiVector warps_;
};

template <std::floating_point T>
std::unique_ptr<Operator<T>> make(const Ingredients<T>& from, const Options&) {
  return std::make_unique<CudaCsrBitmask<T>>(*from.matrix);
}

}  // namespace

Makers csr_bitmask_on_gpu() { return {make<double>, make<float>}; }

}  // namespace femcg::operators
