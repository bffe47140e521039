#pragma once

// Systems with several right-hand sides, for the tests of CG on them.

#include <Eigen/Dense>
#include <memory>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "operators/backend/columns.hpp"
#include "operators/catalogue.hpp"
#include "operators/sparse/csr_matrix.hpp"
#include "tests/device.hpp"

namespace femcg::tests {

using operators::Columns;
using operators::CsrMatrix;
using operators::Device;
using operators::Ingredients;
using operators::Operator;
using operators::Vector;

template <class T>
Vector<T> random_vector(std::int64_t n, unsigned seed, double least = -1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(least, 1);
  Vector<T> vector(n);
  for (T& number : vector.span()) number = static_cast<T>(uniform(random));
  return vector;
}

template <class T>
Vector<T> on_device(const Vector<T>& vector) {
  return copied(vector, device());
}

/// Columns that are copies of vectors, in storage that is NaN else.
template <class T>
Columns<T> columns_of(const std::vector<Vector<T>>& vectors) {
  Columns<T> columns(vectors.front().size(), static_cast<int>(vectors.size()), device());
  copy(poisoned<T>(columns.entries().size()), columns.entries());
  for (int c = 0; c < columns.count(); ++c) set_column(on_device(vectors[static_cast<std::size_t>(c)]), {}, c, columns);
  return columns;
}

template <class T>
Vector<T> column(const Columns<T>& columns, int c) {
  Vector<T> vector(columns.rows(), columns.device());
  get_column(columns, c, {}, vector);
  return copied(vector, Device::host);
}

template <class T>
std::unique_ptr<Operator<T>> dense(const Eigen::MatrixXd& values) {
  auto matrix = std::make_shared<CsrMatrix<T>>();
  const auto n = static_cast<std::int32_t>(values.rows());
  matrix->rows = n;
  matrix->row_offsets = Vector<std::int64_t>(n + 1);
  matrix->columns = Vector<std::int32_t>(std::int64_t{n} * n);
  matrix->values = Vector<T>(std::int64_t{n} * n);
  for (std::int32_t i = 0; i <= n; ++i) matrix->row_offsets[i] = std::int64_t{i} * n;
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t j = 0; j < n; ++j) {
      matrix->columns[std::int64_t{i} * n + j] = j;
      matrix->values[std::int64_t{i} * n + j] = static_cast<T>(values(i, j));
    }
  Ingredients<T> from;
  from.device = device();
  from.matrix = matrix;
  return operators::find_operator("csr")->make<T>(from, {});
}

/// Eigenvalues 1 to `condition`, and the eigenvectors.
struct Spectrum {
  explicit Spectrum(int n, double condition) {
    std::srand(4);
    vectors = Eigen::HouseholderQR<Eigen::MatrixXd>(Eigen::MatrixXd::Random(n, n)).householderQ();
    values = Eigen::VectorXd::LinSpaced(n, 1, condition);
  }
  Eigen::MatrixXd matrix() const { return vectors * values.asDiagonal() * vectors.transpose(); }
  Eigen::MatrixXd vectors;
  Eigen::VectorXd values;
};

template <class T>
Vector<T> from_eigen(const Eigen::VectorXd& values) {
  Vector<T> vector(values.size());
  for (Eigen::Index i = 0; i < values.size(); ++i) vector[i] = static_cast<T>(values[i]);
  return vector;
}

/// Vectors, which are only moved, in a list.
template <class... Vectors>
auto list_of(Vectors... vectors) {
  std::vector<std::common_type_t<Vectors...>> list;
  (list.push_back(std::move(vectors)), ...);
  return list;
}

}  // namespace femcg::tests
