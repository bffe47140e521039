// Cooperative product of compressed rows: `coop` threads per row, `repeat` rows per group of threads one after the
// other, blocks of `block_size` (Reguly & Giles 2012, figure 3). Moves sizeof(Value) + 4 bytes per nonzero, 2 sizeof(T)
// + 8 a row. Sums are in a fixed order: two runs give the same bits.

#include "operators/backend/cuda/product.cuh"
#include "operators/capabilities.hpp"
#include "operators/stored/assembled/value_words.hpp"
#include "operators/stored/common/multi_vector_by_rows.cuh"
#include "operators/stored/common/multi_vector_by_rows.hpp"
#include "operators/stored/common/stored_footprint.hpp"
#include "operators/stored/csr/csr_launch.hpp"

namespace femcg::operators {

namespace {

/// The matrix as plain pointers, and the rows per group of threads.
template <class Value>
struct Rows {
  std::int32_t rows;
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const Value* values;
  int repeat;
};

template <class T, class Value, int coop, bool with_energy>
__global__ void cooperative_kernel(Rows<Value> a, const T* x, T* y, double* energy, cuda::Parts<1> parts) {
  const int groups = static_cast<int>(blockDim.x) / coop;
  const int lane = static_cast<int>(threadIdx.x) % coop, group = static_cast<int>(threadIdx.x) / coop;
  const std::int64_t rows_per_block = std::int64_t{groups} * a.repeat;
  double of_thread = 0;
  for (std::int64_t block = blockIdx.x; block * rows_per_block < a.rows; block += gridDim.x) {
    for (int r = 0; r < a.repeat; ++r) {
      const std::int64_t row = block * rows_per_block + std::int64_t{r} * groups + group;
      T sum = 0;
      if (row < a.rows) {
        const std::int64_t end = a.offsets[row + 1];
        for (std::int64_t k = a.offsets[row] + lane; k < end; k += coop)
          sum += static_cast<T>(cuda::load_once(a.values + k)) * __ldg(x + cuda::load_once(a.columns + k));
      }
      sum = cuda::sum_of_lanes<coop>(sum);
      if (row < a.rows && lane == 0) {
        y[row] = sum;
        if constexpr (with_energy) of_thread += cuda::energy_of_row(x[row], sum);
      }
    }
  }
  if constexpr (with_energy) cuda::give_energy(of_thread, energy, parts);
}

/// Blocks for all rows, possibly more than are resident: `repeat` determines their number.
std::int64_t blocks_for(std::int32_t rows, const CsrLaunch& launch) {
  const std::int64_t rows_per_block = std::int64_t{launch.block_size / launch.coop} * launch.repeat;
  return (rows + rows_per_block - 1) / rows_per_block;
}

template <class T, class Value>
cuda::Product<T, Rows<Value>> product_of(std::int32_t rows, const CsrLaunch& launch) {
  const std::int64_t blocks = std::max<std::int64_t>(1, blocks_for(rows, launch));
  return cuda::with_threads_per_row(launch.coop, [&]<int coop>() {
    return cuda::Product<T, Rows<Value>>(cooperative_kernel<T, Value, coop, false>,
                                         cooperative_kernel<T, Value, coop, true>, launch.block_size, blocks);
  });
}

template <std::floating_point T, std::floating_point Value>
class CooperativeCsr final : public Operator<T>, public WithLaunch {
 public:
  CooperativeCsr(const CsrMatrix<Value>& matrix, Vector<T> diagonal, const CsrLaunch& launch)
      : Operator<T>(matrix.rows, Device::cuda),
        launch_(launch),
        offsets_(copied(matrix.row_offsets, Device::cuda)),
        columns_(copied(matrix.columns, Device::cuda)),
        values_(copied(matrix.values, Device::cuda)),
        diagonal_(std::move(diagonal)),
        product_(product_of<T, Value>(matrix.rows, launch)) {}

  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  std::map<std::string, std::string> chosen() const override {
    return {{"coop", std::to_string(launch_.coop)},
            {"repeat", std::to_string(launch_.repeat)},
            {"block_size", std::to_string(launch_.block_size)}};
  }
  void launch_as(const Options& given) override {
    launch_ = chosen_csr_launch(this->size(), values_.size(), given);
    product_ = product_of<T, Value>(this->size(), launch_);
  }
  Footprint footprint() const override {
    const std::int64_t bytes = offsets_.bytes() + columns_.bytes() + values_.bytes();
    return with_vectors_of<T, Value>(
        stored_footprint<Value>(this->size(), values_.size(), values_.size(), bytes, bytes), this->size());
  }

 private:
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    const Rows<Value> rows{this->size(), offsets_.data(), columns_.data(), values_.data(), launch_.repeat};
    product_(rows, blocks_for(this->size(), launch_) * launch_.block_size, x, y, energy);
  }

  void multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const override {
    const CsrByRows<Value> rows{this->size(), offsets_.data(), columns_.data(), values_.data()};
    const double mean_length = static_cast<double>(values_.size()) / std::max(1, this->size());
    multi_vector_product_.multiply<cuda::Neighbours::of_row>(rows, mean_length, x, y, energies);
  }

  CsrLaunch launch_;
  Vector<std::int64_t> offsets_;
  Vector<std::int32_t> columns_;
  Vector<Value> values_;
  Vector<T> diagonal_;  ///< on the host
  cuda::Product<T, Rows<Value>> product_;
  cuda::MultiVectorProduct multi_vector_product_;
};

}  // namespace

template <std::floating_point T, std::floating_point Value>
std::unique_ptr<Operator<T>> make_cooperative_csr(const CsrMatrix<Value>& matrix, Vector<T> diagonal,
                                                  const CsrLaunch& launch) {
  return std::make_unique<CooperativeCsr<T, Value>>(matrix, std::move(diagonal), launch);
}

template std::unique_ptr<Operator<double>> make_cooperative_csr(const CsrMatrix<double>&, Vector<double>,
                                                                const CsrLaunch&);
template std::unique_ptr<Operator<double>> make_cooperative_csr(const CsrMatrix<float>&, Vector<double>,
                                                                const CsrLaunch&);
template std::unique_ptr<Operator<float>> make_cooperative_csr(const CsrMatrix<float>&, Vector<float>,
                                                               const CsrLaunch&);

}  // namespace femcg::operators
