// cuSPARSE's products, as a user of the library would have them. One with compressed rows moves sizeof(T) + 4 bytes a
// nonzero, or + 8 with indices of 64 bits, 4 or 8 a row, and x and y once; one with sliced ELLPACK the same an entry,
// padding included, and a slice.

#include <cusparse.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "operators/backend/passes/multi_vector_kernels.hpp"
#include "operators/backend/passes/vector_kernels.hpp"
#include "operators/backend/permutation.hpp"
#include "operators/capabilities.hpp"
#include "operators/stored/common/conversion.cuh"
#include "operators/stored/common/stored_diagonal.hpp"
#include "operators/vendor/cublas_vectors.hpp"
#include "operators/vendor/cusparse.hpp"
#include "operators/vendor/cusparse_choice.hpp"
#include "operators/vendor/index.hpp"
#include "operators/vendor/sliced_ell.cuh"

namespace femcg::operators {

namespace {

void check(cusparseStatus_t status, const char* doing) {
  if (status != CUSPARSE_STATUS_SUCCESS)
    throw std::runtime_error(std::string(doing) + ": " + cusparseGetErrorString(status));
}

template <auto destroy>
struct Destroy {
  template <class Thing>
  void operator()(Thing* thing) const {
    destroy(thing);
  }
};
template <class Pointer, auto destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Pointer>, Destroy<destroy>>;
using Handle = Owned<cusparseHandle_t, cusparseDestroy>;
using MatrixDescription = Owned<cusparseSpMatDescr_t, cusparseDestroySpMat>;
using VectorDescription = Owned<cusparseDnVecDescr_t, cusparseDestroyDnVec>;
using DenseDescription = Owned<cusparseDnMatDescr_t, cusparseDestroyDnMat>;

template <class T>
constexpr cudaDataType value_type = std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F;

cusparseIndexType_t index_type(int bits) { return bits == 64 ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I; }

template <std::floating_point T>
VectorDescription described(const Vector<T>& vector) {
  cusparseDnVecDescr_t made{};
  check(cusparseCreateDnVec(&made, vector.size(), const_cast<T*>(vector.data()), value_type<T>), "describing a vector");
  return VectorDescription(made);
}

/// Several vectors: a dense matrix that lies row by row, as they are interleaved, or column by column.
template <std::floating_point T>
DenseDescription described(const T* numbers, std::int64_t rows, int count, cusparseOrder_t order) {
  cusparseDnMatDescr_t made{};
  check(cusparseCreateDnMat(&made, rows, count, order == CUSPARSE_ORDER_ROW ? count : rows, const_cast<T*>(numbers),
                            value_type<T>, order),
        "describing vectors");
  return DenseDescription(made);
}

/// Seconds of one of so many products in a row, begun by `begin_product`, as are enough for a clock.
template <class Begin>
double seconds_of_product(const Begin& begin_product) {
  constexpr double enough = 2e-3;
  constexpr int few = 3, many = 100;
  const auto seconds_of_each = [&](int products) {
    synchronize(Device::cuda);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < products; ++i) begin_product();
    synchronize(Device::cuda);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / products;
  };
  seconds_of_each(1);
  return seconds_of_each(static_cast<int>(std::clamp<double>(enough / seconds_of_each(few), few, many)));
}

constexpr int block_threads = 256;

/// As many blocks as `threads` want and the GPU holds.
template <class... Parameters, class... Arguments>
void launch_strided(void (*kernel)(Parameters...), std::int64_t threads, Arguments&&... arguments) {
  const std::int64_t blocks = cuda::blocks_of(threads, block_threads);
  cuda::launch(kernel, std::min(blocks, cuda::resident_blocks(kernel, block_threads)), block_threads, 0,
               std::forward<Arguments>(arguments)...);
}

/// Interleaved vectors one after the other, or back. A warp's numbers lie side by side in each vector.
template <class T, bool back>
__global__ void turn_kernel(std::int64_t rows, int stride, const T* from, T* to) {
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = cuda::thread_number(); i < rows; i += threads)
    for (int c = 0; c < stride; ++c) {
      const std::int64_t by_row = i * stride + c, by_column = c * rows + i;
      to[back ? by_row : by_column] = from[back ? by_column : by_row];
    }
}

template <class From, class To>
__global__ void convert_kernel(std::int64_t count, const From* from, To* to) {
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = cuda::thread_number(); i < count; i += threads) to[i] = static_cast<To>(from[i]);
}

/// Offsets or columns in so many bits.
template <class From>
Vector<char> indices_on_gpu(const Vector<From>& numbers, int bits) {
  const std::int64_t count = numbers.size();
  Vector<char> made(count * (bits / 8), Device::cuda);
  if (bits == 8 * sizeof(From)) {
    copy_bytes(numbers.data(), Device::host, made.data(), Device::cuda, made.bytes());
    return made;
  }
  const Vector<From> there = copied(numbers, Device::cuda);
  if (bits == 64)
    launch_strided(convert_kernel<From, std::int64_t>, count, count, there.data(),
                   reinterpret_cast<std::int64_t*>(made.data()));
  else
    launch_strided(convert_kernel<From, std::int32_t>, count, count, there.data(),
                   reinterpret_cast<std::int32_t*>(made.data()));
  synchronize(Device::cuda);
  return made;
}

/// A matrix as cuSPARSE is told of it, and what its product needs beside that.
template <std::floating_point T>
class CusparseOperator : public Operator<T>, public WithVectorKernels<T> {
 public:
  CusparseOperator(const CsrMatrix<T>& matrix, VectorPasses passes)
      : Operator<T>(matrix.rows, Device::cuda),
        nonzeros_(matrix.nonzeros()),
        diagonal_(diagonal_of(matrix)),
        cublas_(passes == VectorPasses::cublas ? make_cublas_vectors<T>() : nullptr) {
    cusparseHandle_t made{};
    check(cusparseCreate(&made), "starting cuSPARSE");
    handle_ = Handle(made);
    check(cusparseSetStream(made, cuda::stream()), "starting cuSPARSE");
  }
  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  bool runs_concurrently() const override { return false; }
  const VectorKernels<T>& vector_kernels() const override {
    return cublas_ ? *cublas_ : operators::vector_kernels<T>(Device::cuda);
  }

 protected:
  /// The matrix that it multiplies with from now on.
  void set_matrix(cusparseSpMatDescr_t matrix, cusparseSpMVAlg_t algorithm) {
    matrix_ = MatrixDescription(matrix);
    algorithm_ = algorithm;
    const Vector<T> x(this->size(), Device::cuda), y(this->size(), Device::cuda);
    const VectorDescription from = described(x), to = described(y);
    std::size_t bytes = 0;
    check(cusparseSpMV_bufferSize(handle_.get(), CUSPARSE_OPERATION_NON_TRANSPOSE, &one_, matrix_.get(), from.get(),
                                  &zero_, to.get(), value_type<T>, algorithm_, &bytes),
          "asking cuSPARSE for a buffer");
    buffer_ = Vector<char>(static_cast<std::int64_t>(bytes), Device::cuda);
    check(cusparseSpMV_preprocess(handle_.get(), CUSPARSE_OPERATION_NON_TRANSPOSE, &one_, matrix_.get(), from.get(),
                                  &zero_, to.get(), value_type<T>, algorithm_, buffer_.data()),
          "preparing a product in cuSPARSE");
  }
  /// `bytes` are those of the matrix, which a product reads; `beside` lie beside it.
  Footprint footprint_of(std::int64_t entries, std::int64_t bytes, std::int64_t beside, int bits) const {
    return library_footprint<T>(this->size(), nonzeros_, entries, bytes + buffer_.bytes() + beside, bytes, bits);
  }

  static constexpr T one_ = 1, zero_ = 0;
  cusparseHandle_t handle() const { return handle_.get(); }
  cusparseSpMatDescr_t matrix() const { return matrix_.get(); }

  std::int64_t nonzeros_;
  Vector<T> diagonal_;  ///< on the host, in the order of x and y

 private:
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    if (this->size() > 0)
      check(cusparseSpMV(handle_.get(), CUSPARSE_OPERATION_NON_TRANSPOSE, &one_, matrix_.get(), described(x).get(),
                         &zero_, described(y).get(), value_type<T>, algorithm_, const_cast<char*>(buffer_.data())),
            "a product in cuSPARSE");
    if (energy != nullptr) vector_kernels().dot(x, y, *energy);
  }

  Handle handle_;
  MatrixDescription matrix_;
  cusparseSpMVAlg_t algorithm_ = CUSPARSE_SPMV_ALG_DEFAULT;
  Vector<char> buffer_;
  std::unique_ptr<VectorKernels<T>> cublas_;  ///< null: femcg's own passes
};

template <std::floating_point T>
class CusparseCsr final : public CusparseOperator<T> {
 public:
  CusparseCsr(const CsrMatrix<T>& matrix, int bits, int algorithm, VectorPasses passes)
      : CusparseOperator<T>(matrix, passes),
        bits_(bits),
        offsets_(indices_on_gpu(matrix.row_offsets, bits)),
        columns_(indices_on_gpu(matrix.columns, bits)),
        values_(copied(matrix.values, Device::cuda)) {
    if (matrix.rows == 0) return;
    cusparseSpMatDescr_t made{};
    check(
        cusparseCreateCsr(&made, matrix.rows, matrix.rows, matrix.nonzeros(), offsets_.data(), columns_.data(),
                          values_.data(), index_type(bits), index_type(bits), CUSPARSE_INDEX_BASE_ZERO, value_type<T>),
        "describing a matrix");
    this->set_matrix(made, algorithm == 0   ? CUSPARSE_SPMV_ALG_DEFAULT
                           : algorithm == 1 ? CUSPARSE_SPMV_CSR_ALG1
                                            : CUSPARSE_SPMV_CSR_ALG2);
  }
  Footprint footprint() const override {
    return this->footprint_of(values_.size(), offsets_.bytes() + columns_.bytes() + values_.bytes(), 0, bits_);
  }
  std::map<std::string, std::string> chosen() const override { return {{"index", std::to_string(bits_)}}; }

 private:
  /// How several vectors are multiplied.
  struct Way {
    cusparseOrder_t order;
    cusparseSpMMAlg_t algorithm;
  };

  /// By the fastest of cuSPARSE's algorithms, with the vectors as they lie or turned to lie one after the other and
  /// back; the first product of each number of vectors finds out which.
  void multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const override {
    if (this->size() > 0) {
      if (x.stride() != stride_) choose_way(x, y);
      multiply_by(way_, x, y);
    }
    if (energies == nullptr) return;
    MultiScalar of(energies, x.stride(), Device::cuda);
    multi_vector_kernels<T>(Device::cuda).dot(x, y, of);
  }
  void choose_way(const MultiVector<T>& x, MultiVector<T>& y) const {
    double least = std::numeric_limits<double>::infinity();
    for (const cusparseOrder_t order : {CUSPARSE_ORDER_ROW, CUSPARSE_ORDER_COL})
      for (const cusparseSpMMAlg_t algorithm :
           {CUSPARSE_SPMM_CSR_ALG1, CUSPARSE_SPMM_CSR_ALG2, CUSPARSE_SPMM_CSR_ALG3}) {
        const Way way{order, algorithm};
        if (!prepare(way, x, y)) continue;
        const double seconds = seconds_of_product([&] { multiply_by(way, x, y); });
        if (seconds >= least) continue;
        least = seconds;
        way_ = way;
      }
    if (!prepare(way_, x, y)) throw std::runtime_error("cuSPARSE has no product with several vectors");
    stride_ = x.stride();
  }
  /// Prepares a way of the product; false if cuSPARSE lacks it for these indices, or memory does.
  bool prepare(const Way& way, const MultiVector<T>& x, const MultiVector<T>& y) const {
    const std::int64_t turned = way.order == CUSPARSE_ORDER_COL ? x.rows() * x.stride() : 0;
    turned_x_ = {};
    turned_y_ = {};
    columns_buffer_ = {};
    try {
      turned_x_ = Vector<T>(turned, Device::cuda);
      turned_y_ = Vector<T>(turned, Device::cuda);
      const auto [from, to] = descriptions(way, x, y);
      std::size_t bytes = 0;
      if (cusparseSpMM_bufferSize(this->handle(), CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                  &this->one_, this->matrix(), from.get(), &this->zero_, to.get(), value_type<T>,
                                  way.algorithm, &bytes) != CUSPARSE_STATUS_SUCCESS)
        return false;
      columns_buffer_ = Vector<char>(static_cast<std::int64_t>(bytes), Device::cuda);
      return cusparseSpMM_preprocess(this->handle(), CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                     &this->one_, this->matrix(), from.get(), &this->zero_, to.get(), value_type<T>,
                                     way.algorithm, columns_buffer_.data()) == CUSPARSE_STATUS_SUCCESS;
    } catch (const OutOfMemory&) {
      return false;
    }
  }
  std::pair<DenseDescription, DenseDescription> descriptions(const Way& way, const MultiVector<T>& x,
                                                             const MultiVector<T>& y) const {
    const bool turned = way.order == CUSPARSE_ORDER_COL;
    return {described(turned ? turned_x_.data() : x.data(), x.rows(), x.stride(), way.order),
            described(turned ? turned_y_.data() : y.data(), y.rows(), y.stride(), way.order)};
  }
  void multiply_by(const Way& way, const MultiVector<T>& x, MultiVector<T>& y) const {
    const bool turned = way.order == CUSPARSE_ORDER_COL;
    if (turned) launch_strided(turn_kernel<T, false>, x.rows(), x.rows(), x.stride(), x.data(), turned_x_.data());
    const auto [from, to] = descriptions(way, x, y);
    check(cusparseSpMM(this->handle(), CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &this->one_,
                       this->matrix(), from.get(), &this->zero_, to.get(), value_type<T>, way.algorithm,
                       columns_buffer_.data()),
          "a product with several vectors in cuSPARSE");
    if (turned) launch_strided(turn_kernel<T, true>, y.rows(), y.rows(), y.stride(), turned_y_.data(), y.data());
  }

  int bits_;
  Vector<char> offsets_, columns_;
  Vector<T> values_;
  mutable int stride_ = 0;  ///< for which the way was chosen
  mutable Way way_{CUSPARSE_ORDER_ROW, CUSPARSE_SPMM_CSR_ALG2};
  mutable Vector<char> columns_buffer_;
  mutable Vector<T> turned_x_, turned_y_;  ///< one vector after the other
};

template <class T, class Index>
__global__ void pack_kernel(std::int64_t positions, Entries<T> from, cuda::RowOrder order,
                            cuda::SlicedEll<T, Index> to) {
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = cuda::thread_number(); i < positions; i += threads) cuda::pack_row(i, from, order, to);
}

/// The place of each number of a permutation.
Vector<std::int32_t> inverse(const Vector<std::int32_t>& permutation) {
  Vector<std::int32_t> places(permutation.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < places.size(); ++i) places[permutation[i]] = static_cast<std::int32_t>(i);
  return places;
}

template <std::floating_point T>
class CusparseSell final : public CusparseOperator<T> {
 public:
  CusparseSell(const CsrMatrix<T>& matrix, std::span<const SliceLayout> layouts, std::string_view index,
               VectorPasses passes)
      : CusparseOperator<T>(matrix, passes), height_(layouts[0].height), sigma_(layouts[0].sigma) {
    if (matrix.rows == 0) return;
    store_fastest(cuda::EntriesOnGpu<T>(matrix), layouts, index);
    if (row_at_ == nullptr) return;
    Vector<T> in_order(matrix.rows);
    gather(this->diagonal_, *row_at_, in_order);
    this->diagonal_ = std::move(in_order);
    ordering_ = copied(*row_at_, Device::cuda);
  }
  const Vector<std::int32_t>& ordering() const override { return ordering_; }
  Footprint footprint() const override {
    return this->footprint_of(values_.size(), offsets_.bytes() + columns_.bytes() + values_.bytes(), ordering_.bytes(),
                              bits_);
  }
  std::map<std::string, std::string> chosen() const override {
    return {{"C", std::to_string(height_)}, {"sigma", std::to_string(sigma_)}, {"index", std::to_string(bits_)}};
  }

 private:
  void store_fastest(const cuda::EntriesOnGpu<T>& source, std::span<const SliceLayout> layouts,
                     std::string_view index) {
    constexpr double gain = 0.98;  // less is noise, or not worth an order of rows
    double least = std::numeric_limits<double>::infinity();
    const SliceLayout* fastest = nullptr;
    for (const SliceLayout& layout : layouts) {
      store(source, layout, index);
      if (layouts.size() == 1) return;
      const Vector<T> x = zeros_on_gpu<T>(this->size());
      Vector<T> y(this->size(), Device::cuda);
      const double seconds = seconds_of_product([&] { this->apply(x, y); });
      if (seconds >= gain * least) continue;
      least = seconds;
      fastest = &layout;
    }
    if (fastest != &layouts.back()) store(source, *fastest, index);
  }

  void store(const cuda::EntriesOnGpu<T>& source, const SliceLayout& layout, std::string_view index) {
    columns_ = {};  // of the layout before
    values_ = {};
    bits_ = index_bits(layout.entries(), "cusparse-sell", index);
    height_ = layout.height;
    sigma_ = layout.sigma;
    row_at_ = layout.row_at;
    offsets_ = indices_on_gpu(layout.offsets, bits_);
    columns_ = Vector<char>(layout.entries() * (bits_ / 8), Device::cuda);
    values_ = Vector<T>(layout.entries(), Device::cuda);
    bits_ == 64 ? pack<std::int64_t>(source, layout) : pack<std::int32_t>(source, layout);
    cusparseSpMatDescr_t made{};
    check(cusparseCreateSlicedEll(&made, this->size(), this->size(), this->nonzeros_, layout.entries(), height_,
                                  offsets_.data(), columns_.data(), values_.data(), index_type(bits_),
                                  index_type(bits_), CUSPARSE_INDEX_BASE_ZERO, value_type<T>),
          "describing a matrix");
    this->set_matrix(made, CUSPARSE_SPMV_SELL_ALG1);
  }

  template <class Index>
  void pack(const cuda::EntriesOnGpu<T>& source, const SliceLayout& layout) {
    Vector<std::int32_t> row_at, position_of;
    if (row_at_ != nullptr) {
      row_at = copied(*row_at_, Device::cuda);
      position_of = copied(inverse(*row_at_), Device::cuda);
    }
    const std::int64_t positions = layout.slices() * height_;
    launch_strided(pack_kernel<T, Index>, positions, positions, source.pointers(),
                   cuda::RowOrder{row_at.data(), position_of.data()},
                   cuda::SlicedEll<T, Index>{this->size(), height_, reinterpret_cast<const Index*>(offsets_.data()),
                                             reinterpret_cast<Index*>(columns_.data()), values_.data()});
    synchronize(Device::cuda);  // before the order goes
  }

  std::int64_t height_, sigma_;
  int bits_ = 32;
  Vector<char> offsets_, columns_;
  Vector<T> values_;
  std::shared_ptr<const Vector<std::int32_t>> row_at_;  ///< on the host; null where rows keep their order
  Vector<std::int32_t> ordering_;
};

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_csr(const Ingredients<T>& from, const Options& given) {
  const CusparseCsrChoice choice = chosen_cusparse_csr(*from.matrix, given);
  return std::make_unique<CusparseCsr<T>>(*from.matrix, choice.bits, choice.algorithm, choice.passes);
}
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_sell(const Ingredients<T>& from, const Options& given) {
  const CusparseSellChoice choice = chosen_cusparse_sell(*from.matrix, given);
  return std::make_unique<CusparseSell<T>>(*from.matrix, choice.layouts, choice.index, choice.passes);
}

}  // namespace

Makers cusparse_csr_on_gpu() { return {make_csr<double>, make_csr<float>}; }
Makers cusparse_sell_on_gpu() { return {make_sell<double>, make_sell<float>}; }

}  // namespace femcg::operators
