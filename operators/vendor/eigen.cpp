// Stored: values and 32-bit columns of the assembled matrix, and 32-bit row offsets. A product moves sizeof(T) + 4
// bytes per nonzero and 2 sizeof(T) + 4 a row (Reguly & Giles 2012, eq. 4). All loops are Eigen's: dot products and
// updates are what its users write, one pass an expression.

#include "operators/vendor/eigen.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <Eigen/SparseCore>
#include <cassert>
#include <limits>
#include <stdexcept>

#include "operators/backend/vector_operations.hpp"
#include "operators/sparse/stored_footprint.hpp"

namespace femcg::operators {

namespace {

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
class EigenVectorOperations final : public VectorOperations<T> {
 public:
  void start(const Vector<T>& r, const Vector<T>* inverse_diagonal, Vector<T>& p, CgScalars& first) const override {
    const auto residual = as_eigen(r);
    auto to = as_eigen(p);
    if (inverse_diagonal != nullptr)
      to = as_eigen(*inverse_diagonal).cwiseProduct(residual);
    else
      to = residual;
    *first.rz.data() = residual.dot(to);
    *first.rr.data() = residual.squaredNorm();
  }

  void update(const CgScalars& now, const Vector<T>& q, const Vector<T>* inverse_diagonal, Vector<T>& r,
              CgScalars& next) const override {
    as_eigen(r) -= static_cast<T>(step_length(now.rz.value(), now.energy.value())) * as_eigen(q);
    norms(r, inverse_diagonal, next);
  }

  void direction(const CgScalars& now, const CgScalars& next, const Vector<T>& r, const Vector<T>* inverse_diagonal,
                 Vector<T>& p, Vector<T>& x) const override {
    const T alpha = static_cast<T>(step_length(now.rz.value(), now.energy.value()));
    const T beta = static_cast<T>(step_length(next.rz.value(), now.rz.value()));
    const auto residual = as_eigen(r);
    auto to = as_eigen(p);
    as_eigen(x) += alpha * to;
    if (inverse_diagonal != nullptr)
      to = as_eigen(*inverse_diagonal).cwiseProduct(residual) + beta * to;
    else
      to = residual + beta * to;
  }

  void advance(const CgScalars& before, CgScalars& now, SingleReduction<T>& vectors, const Vector<T>* inverse_diagonal,
               Vector<T>& x, Vector<T>& r, CgScalars& next) const override {
    const double beta = step_length(now.rz.value(), before.rz.value());
    const double energy = now.uw.value() - beta * beta * before.energy.value();
    *now.energy.data() = energy;
    const T alpha = static_cast<T>(step_length(now.rz.value(), energy));
    auto p = as_eigen(vectors.p), s = as_eigen(vectors.s), residual = as_eigen(r);
    p = static_cast<T>(beta) * p + (inverse_diagonal != nullptr ? as_eigen(vectors.u) : residual);
    s = static_cast<T>(beta) * s + as_eigen(vectors.w);
    as_eigen(x) += alpha * p;
    residual -= alpha * s;
    if (inverse_diagonal != nullptr) as_eigen(vectors.u) = as_eigen(*inverse_diagonal).cwiseProduct(residual);
    norms(r, inverse_diagonal, next);
  }

  void dot(const Vector<T>& a, const Vector<T>& b, Scalar& result) const override {
    *result.data() = as_eigen(a).dot(as_eigen(b));
  }

 private:
  static void norms(const Vector<T>& r, const Vector<T>* inverse_diagonal, CgScalars& next) {
    const auto residual = as_eigen(r);
    *next.rr.data() = residual.squaredNorm();
    *next.rz.data() = inverse_diagonal != nullptr ? residual.dot(as_eigen(*inverse_diagonal).cwiseProduct(residual))
                                                  : static_cast<T>(next.rr.value());
  }
};

void check(std::int64_t nonzeros) {
  if (nonzeros > std::numeric_limits<std::int32_t>::max())
    throw std::invalid_argument(
        fmt::format("operator 'eigen' counts nonzeros in 32 bits and this matrix has {}; 'csr' takes it", nonzeros));
}

Vector<std::int32_t> narrow_offsets(std::int64_t rows, const Vector<std::int64_t>& offsets, std::int64_t nonzeros) {
  check(nonzeros);
  Vector<std::int32_t> narrow(rows + 1);
  narrow[0] = 0;
  for (std::int64_t row = 0; row < rows; ++row) narrow[row + 1] = static_cast<std::int32_t>(offsets[row + 1]);
  return narrow;
}

template <std::floating_point T>
class EigenOperator final : public Operator<T>, public WithVectorOperations<T> {
 public:
  explicit EigenOperator(std::shared_ptr<const CsrMatrix<T>> matrix)
      : Operator<T>(matrix->rows, Device::host),
        shared_(std::move(matrix)),
        offsets_(narrow_offsets(shared_->rows, shared_->row_offsets, shared_->nonzeros())),
        matrix_(shared_->rows, shared_->rows, shared_->nonzeros(), offsets_.data(), shared_->columns.data(),
                shared_->values.data()) {}

  void diagonal(Vector<T>& d) const override {
    assert(d.size() == this->size());
    for (std::int32_t row = 0; row < this->size(); ++row) d[row] = matrix_.coeff(row, row);
  }

  Footprint footprint() const override {
    const std::int64_t nonzeros = matrix_.nonZeros();
    const std::int64_t bytes =
        nonzeros * static_cast<std::int64_t>(sizeof(T) + sizeof(std::int32_t)) + offsets_.bytes();
    return stored_footprint<T>(this->size(), nonzeros, nonzeros, bytes, bytes);
  }

  const VectorOperations<T>& vector_operations() const override {
    static const EigenVectorOperations<T> kernels;
    return kernels;
  }

 private:
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    auto to = as_eigen(y);
    to.noalias() = matrix_ * as_eigen(x);
    if (energy != nullptr) *energy->data() = as_eigen(x).dot(to);
  }

  std::shared_ptr<const CsrMatrix<T>> shared_;
  Vector<std::int32_t> offsets_;
  Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor, std::int32_t>> matrix_;
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_eigen(const Ingredients<T>& from, const Options&) {
  return std::make_unique<EigenOperator<T>>(from.matrix);
}

template <std::floating_point T>
OperatorBytes bytes_of_eigen(const Extent<T>& of, const Options&) {
  check(of.matrix->nonzeros());
  return bytes_of_compressed_rows(of);
}

template std::unique_ptr<Operator<double>> make_eigen(const Ingredients<double>&, const Options&);
template std::unique_ptr<Operator<float>> make_eigen(const Ingredients<float>&, const Options&);
template OperatorBytes bytes_of_eigen(const Extent<double>&, const Options&);
template OperatorBytes bytes_of_eigen(const Extent<float>&, const Options&);

}  // namespace femcg::operators
