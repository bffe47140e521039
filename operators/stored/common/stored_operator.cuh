#pragma once

// The operator of a stored format on the GPU. The host makes the lists with an entry per row; entries are moved on the
// GPU, at its bandwidth, which temporarily needs the memory of the source too.

#include "operators/backend/cuda/product.cuh"
#include "operators/capabilities.hpp"
#include "operators/stored/common/chunked_operator.cuh"
#include "operators/stored/common/conversion.cuh"
#include "operators/stored/common/multi_vector_by_rows.cuh"
#include "operators/stored/common/stored_format.hpp"

namespace femcg::operators::cuda {

/// Mean number of nonzeros of a row.
template <class Format>
double mean_length(const Format& a) {
  return static_cast<double>(a.nonzeros) / std::max(1, a.rows);
}

/// `Gpu` provides the product:
///   using Matrix = the format as plain pointers;
///   static Matrix pointers(const Format&);
///   static Product<T, Matrix> product(const Format&);
///   static std::int64_t threads(const Format&);   // number of threads that have work
///   static constexpr Neighbours neighbours;       // in memory
/// A format with launch options has a function launch_as(const Options&) that reads them.
template <class Format, class Gpu>
class StoredOnGpu final : public StoredOperator<Format>, public WithLaunch {
 public:
  using T = typename Format::Value;

  /// `format` has its lists.
  StoredOnGpu(Format format, const CsrMatrix<T>& matrix)
      : StoredOperator<Format>(std::move(format), matrix, Device::cuda), product_(Gpu::product(this->format())) {
    const EntriesOnGpu<T> source(matrix);
    this->format().move_entries(source.pointers(),
                                [&](std::int64_t threads, const auto& map, auto& columns, auto& values) {
                                  move_on_gpu(threads, map, source.pointers(), columns, values);
                                });
  }

  void launch_as(const Options& given) override {
    if constexpr (requires(Format & format) { format.launch_as(given); }) {
      this->format().launch_as(given);
      product_ = Gpu::product(this->format());
    }
  }

 private:
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    product_(Gpu::pointers(this->format()), Gpu::threads(this->format()), x, y, energy);
  }
  void multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const override {
    const Format& a = this->format();
    multi_vector_product_.template multiply<Gpu::neighbours>(a.by_rows(), mean_length(a), x, y, energies);
  }

  Product<T, typename Gpu::Matrix> product_;
  MultiVectorProduct multi_vector_product_;
};

/// Launches of a format's chunks (chunked_operator.cuh), whose options, and so kernels, are the same.
template <class Format, class Gpu>
class LaunchesOfChunks {
 public:
  using T = typename Format::Value;

  explicit LaunchesOfChunks(const Format& any) : product_(Gpu::product(any)), mean_length_(mean_length(any)) {}
  void multiply(const Format& chunk, const Vector<T>& x, Vector<T>& y) const {
    product_(Gpu::pointers(chunk), Gpu::threads(chunk), x, y, nullptr);
  }
  void multiply_multi_vector(const Format& chunk, const MultiVector<T>& x, MultiVector<T>& y) const {
    multi_vector_product_.template multiply<Gpu::neighbours>(chunk.by_rows(), mean_length_, x, y, nullptr);
  }

 private:
  Product<T, typename Gpu::Matrix> product_;
  double mean_length_;
  MultiVectorProduct multi_vector_product_;
};

template <template <class> class Format, template <class> class Gpu, std::floating_point T>
std::unique_ptr<Operator<T>> make_stored_on_gpu(const Ingredients<T>& from, const Options& given) {
  const CsrMatrix<T>& matrix = *from.matrix;
  const Residence residence = chosen_residence(Format<T>::name, Device::cuda, given);
  if (residence.where != Residence::Where::streamed || matrix.rows == 0) {
    Format<T> format(matrix, Device::cuda, given);
    const StorageEstimate whole{.arrays = arrays_of(format), .making = bytes_of_rows(matrix)};
    if (matrix.rows == 0 || stays_whole(residence, whole, from.reserved_bytes))
      return std::make_unique<StoredOnGpu<Format<T>, Gpu<T>>>(std::move(format), matrix);
  }
  return std::make_unique<ChunkedOnGpu<T, Format<T>, LaunchesOfChunks<Format<T>, Gpu<T>>>>(
      matrix, diagonal_of(matrix), given, chunk_budget(residence, from.reserved_bytes));
}

template <template <class> class Format, template <class> class Gpu>
Makers stored_makers() {
  return {make_stored_on_gpu<Format, Gpu, double>, make_stored_on_gpu<Format, Gpu, float>};
}

}  // namespace femcg::operators::cuda
