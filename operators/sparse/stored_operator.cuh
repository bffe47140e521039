#pragma once

// The operator of a stored format on the GPU. The host makes the lists that have an entry per row; entries are moved to
// their places here, at the GPU's bandwidth, which takes the source's memory beside the target's for a moment.

#include "operators/backend/cuda/product.cuh"
#include "operators/sparse/columns_by_rows.cuh"
#include "operators/sparse/conversion.cuh"
#include "operators/sparse/stored_format.hpp"

namespace femcg::operators::cuda {

/// `Gpu` says how the product goes:
///   using Matrix = the format as plain pointers;
///   static Matrix pointers(const Format&);
///   static Product<T, Matrix> product(const Format&);
///   static std::int64_t threads(const Format&);   // how many could work at once
///   static constexpr Neighbours neighbours;       // in memory
template <class Format, class Gpu>
class StoredOnGpu final : public StoredOperator<Format> {
 public:
  using T = typename Format::Value;

  StoredOnGpu(Format format, const CsrMatrix<T>& matrix)
      : StoredOperator<Format>(std::move(format), matrix, Device::cuda), product_(Gpu::product(this->format())) {
    const EntriesOnGpu<T> source(matrix);
    this->format().move_entries(source.pointers(),
                                [&](std::int64_t threads, const auto& map, auto& columns, auto& values) {
                                  move_on_gpu(threads, map, source.pointers(), columns, values);
                                });
  }

 private:
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    product_(Gpu::pointers(this->format()), Gpu::threads(this->format()), x, y, energy);
  }
  void multiply_columns(const Columns<T>& x, Columns<T>& y, double* energies) const override {
    const Format& a = this->format();
    const double mean_length = static_cast<double>(a.nonzeros) / std::max(1, a.rows);
    columns_product_.template multiply<Gpu::neighbours>(a.by_rows(), mean_length, x, y, energies);
  }

  Product<T, typename Gpu::Matrix> product_;
  ColumnsProduct columns_product_;
};

template <template <class> class Format, template <class> class Gpu, std::floating_point T>
std::unique_ptr<Operator<T>> make_stored_on_gpu(const Ingredients<T>& from, const Options& given) {
  return std::make_unique<StoredOnGpu<Format<T>, Gpu<T>>>(Format<T>(*from.matrix, Device::cuda, given), *from.matrix);
}

template <template <class> class Format, template <class> class Gpu>
Makers stored_makers() {
  return {make_stored_on_gpu<Format, Gpu, double>, make_stored_on_gpu<Format, Gpu, float>};
}

}  // namespace femcg::operators::cuda
