// Stored: values, columns and row offsets of the assembled matrix, indices in 32 bits or, where these cannot count the
// nonzeros, 64. A product moves sizeof(T) + 4 (8) bytes per nonzero and 2 sizeof(T) + 4 (8) a row (Reguly & Giles 2012,
// eq. 4). All loops are Eigen's: dot products and updates are what its users write, one pass an expression.

#include "operators/vendor/eigen.hpp"

#include <Eigen/Core>
#include <Eigen/SparseCore>
#include <cassert>

#include "operators/backend/passes/vector_kernels.hpp"
#include "operators/capabilities.hpp"
#include "operators/options.hpp"
#include "operators/vendor/index.hpp"

namespace femcg::operators {

namespace {

constexpr OptionDescription index_option{"index", "auto, 32 or 64", "auto",
                                         "bits of an offset and of a column: 64 where 32 cannot count the entries",
                                         is_library_index};

template <std::floating_point T>
using Column = Eigen::Matrix<T, Eigen::Dynamic, 1>;

template <std::floating_point T>
Eigen::Map<Column<T>> as_eigen(Vector<T>& vector) {
  return {vector.data(), vector.size()};
}
template <std::floating_point T>
Eigen::Map<const Column<T>> as_eigen(const Vector<T>& vector) {
  return {vector.data(), vector.size()};
}

template <std::floating_point T>
class EigenVectorKernels final : public VectorKernels<T> {
 public:
  void start(const Vector<T>& r, const InverseDiagonal* inverse_diagonal, Vector<T>& p,
             CgScalars& first) const override {
    const auto residual = as_eigen(r);
    auto to = as_eigen(p);
    if (inverse_diagonal != nullptr)
      to = as_eigen(*inverse_diagonal).template cast<T>().cwiseProduct(residual);
    else
      to = residual;
    *first.rz.data() = residual.dot(to);
    *first.rr.data() = residual.squaredNorm();
  }

  void update(const CgScalars& now, const Vector<T>& q, const InverseDiagonal* inverse_diagonal, Vector<T>& r,
              CgScalars& next) const override {
    as_eigen(r) -= static_cast<T>(step_length(now.rz.value(), now.energy.value())) * as_eigen(q);
    norms(r, inverse_diagonal, next);
  }

  void direction(const CgScalars& now, const CgScalars& next, const Vector<T>& r,
                 const InverseDiagonal* inverse_diagonal, Vector<T>& p, Vector<T>& x) const override {
    const T alpha = static_cast<T>(step_length(now.rz.value(), now.energy.value()));
    const T beta = static_cast<T>(step_length(next.rz.value(), now.rz.value()));
    const auto residual = as_eigen(r);
    auto to = as_eigen(p);
    as_eigen(x) += alpha * to;
    if (inverse_diagonal != nullptr)
      to = as_eigen(*inverse_diagonal).template cast<T>().cwiseProduct(residual) + beta * to;
    else
      to = residual + beta * to;
  }

  void advance(const CgScalars& before, CgScalars& now, SingleReduction<T>& vectors,
               const InverseDiagonal* inverse_diagonal, Vector<T>& x, Vector<T>& r, CgScalars& next) const override {
    const StepLengths lengths = step_lengths(before, now);
    const T alpha = static_cast<T>(lengths.alpha), beta = static_cast<T>(lengths.beta);
    auto p = as_eigen(vectors.p), s = as_eigen(vectors.s), residual = as_eigen(r);
    p = beta * p + (inverse_diagonal != nullptr ? as_eigen(vectors.u) : residual);
    s = beta * s + as_eigen(vectors.w);
    as_eigen(x) += alpha * p;
    residual -= alpha * s;
    if (inverse_diagonal != nullptr)
      as_eigen(vectors.u) = as_eigen(*inverse_diagonal).template cast<T>().cwiseProduct(residual);
    norms(r, inverse_diagonal, next);
  }

  void advance_pipelined(const CgScalars& before, CgScalars& now, SingleReduction<T>& vectors, Pipelined<T>& ahead,
                         const InverseDiagonal* inverse_diagonal, Vector<T>& x, Vector<T>& r,
                         CgScalars& next) const override {
    const StepLengths lengths = step_lengths(before, now);
    const T alpha = static_cast<T>(lengths.alpha), beta = static_cast<T>(lengths.beta);
    auto p = as_eigen(vectors.p), s = as_eigen(vectors.s), w = as_eigen(vectors.w), z = as_eigen(ahead.z),
         residual = as_eigen(r);
    if (inverse_diagonal != nullptr)
      p = beta * p + as_eigen(*inverse_diagonal).template cast<T>().cwiseProduct(residual);
    else
      p = beta * p + residual;
    s = beta * s + w;
    z = beta * z + as_eigen(ahead.n);
    as_eigen(x) += alpha * p;
    residual -= alpha * s;
    w -= alpha * z;
    norms(r, inverse_diagonal, next);
    if (inverse_diagonal == nullptr) {
      *next.uw.data() = residual.dot(w);
      return;
    }
    as_eigen(ahead.m) = as_eigen(*inverse_diagonal).template cast<T>().cwiseProduct(w);
    *next.uw.data() = residual.dot(as_eigen(ahead.m));  // M^-1 is its own transpose
  }

  void dot(const Vector<T>& a, const Vector<T>& b, Scalar& result) const override {
    *result.data() = as_eigen(a).dot(as_eigen(b));
  }

 private:
  static void norms(const Vector<T>& r, const InverseDiagonal* inverse_diagonal, CgScalars& next) {
    const auto residual = as_eigen(r);
    *next.rr.data() = residual.squaredNorm();
    *next.rz.data() = inverse_diagonal != nullptr
                          ? residual.dot(as_eigen(*inverse_diagonal).template cast<T>().cwiseProduct(residual))
                          : static_cast<T>(next.rr.value());
  }
};

/// Numbers as To: a copy, or the numbers themselves where they are of that type already.
template <class To>
class As {
 public:
  explicit As(const Vector<To>& numbers) : data_(numbers.data()) {}
  template <class From>
  explicit As(const Vector<From>& numbers) : copy_(numbers.size()), data_(copy_.data()) {
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < numbers.size(); ++i) copy_[i] = static_cast<To>(numbers[i]);
  }
  const To* data() const { return data_; }

 private:
  Vector<To> copy_;
  const To* data_;
};

template <std::floating_point T, class Index>
class EigenOperator final : public Operator<T>, public WithVectorKernels<T> {
 public:
  explicit EigenOperator(std::shared_ptr<const CsrMatrix<T>> matrix)
      : Operator<T>(matrix->rows, Device::host),
        shared_(std::move(matrix)),
        offsets_(shared_->row_offsets),
        columns_(shared_->columns),
        matrix_(shared_->rows, shared_->rows, shared_->nonzeros(), offsets_.data(), columns_.data(),
                shared_->values.data()) {}

  void diagonal(Vector<T>& d) const override {
    assert(d.size() == this->size());
    for (std::int32_t row = 0; row < this->size(); ++row) d[row] = matrix_.coeff(row, row);
  }

  Footprint footprint() const override {
    const std::int64_t nonzeros = shared_->nonzeros(), bytes = bytes_of_rows(*shared_, bits);
    return library_footprint<T>(this->size(), nonzeros, nonzeros, bytes, bytes, bits);
  }
  std::map<std::string, std::string> chosen() const override { return {{"index", std::to_string(bits)}}; }

  const VectorKernels<T>& vector_kernels() const override {
    static const EigenVectorKernels<T> kernels;
    return kernels;
  }

 private:
  static constexpr int bits = 8 * sizeof(Index);

  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    auto to = as_eigen(y);
    to.noalias() = matrix_ * as_eigen(x);
    if (energy != nullptr) *energy->data() = as_eigen(x).dot(to);
  }
  /// Eigen multiplies with a dense matrix of rows, which is what interleaved vectors are.
  void multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const override {
    using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const Eigen::Map<const Rows> from(x.data(), x.rows(), x.stride());
    Eigen::Map<Rows> to(y.data(), y.rows(), y.stride());
    to.noalias() = matrix_ * from;
    if (energies != nullptr)
      Eigen::Map<Eigen::VectorXd>(energies, x.stride()) =
          from.cwiseProduct(to).colwise().sum().transpose().template cast<double>();
  }

  std::shared_ptr<const CsrMatrix<T>> shared_;
  As<Index> offsets_, columns_;
  Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor, Index>> matrix_;
};

template <std::floating_point T>
int bits_of(const CsrMatrix<T>& matrix, const Options& given) {
  return index_bits(matrix.nonzeros(), "eigen", value_of(index_option, "eigen", given));
}

template <std::floating_point T>
std::unique_ptr<Operator<T>> make(const Ingredients<T>& from, const Options& given) {
  if (bits_of(*from.matrix, given) == 64) return std::make_unique<EigenOperator<T, std::int64_t>>(from.matrix);
  return std::make_unique<EigenOperator<T, std::int32_t>>(from.matrix);
}

template <std::floating_point T>
StorageEstimate estimate(const Extent<T>& of, const Options& given) {
  const int bits = bits_of(*of.matrix, given);
  const std::int64_t index = bits / 8, rows = of.matrix->rows, nonzeros = of.matrix->nonzeros();
  const std::int64_t bytes = bytes_of_rows(*of.matrix, bits);
  return {.arrays = {{"row offsets", rows + 1, (rows + 1) * index},
                     {"columns", nonzeros, nonzeros * index},
                     {"values", nonzeros, nonzeros * std::int64_t{sizeof(T)}}},
          .product = library_footprint<T>(rows, nonzeros, nonzeros, bytes, bytes, bits)};
}

}  // namespace

OperatorDescription eigen() {
  return {.name = "eigen",
          .stores = "Eigen's row-major sparse matrix, product and vector operations: the baseline",
          .source = "Eigen 3.4",
          .needs = Needs::matrix,
          .options = {&index_option, 1},
          .on_host = {make<double>, make<float>},
          .estimates = {estimate<double>, estimate<float>}};
}

}  // namespace femcg::operators
