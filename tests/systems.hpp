#pragma once

// Systems with several right-hand sides, for the tests of CG on them.

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "operators/backend/multi_vector.hpp"
#include "operators/catalogue.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"

namespace femcg::tests {

using operators::CsrMatrix;
using operators::Device;
using operators::Ingredients;
using operators::MultiVector;
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

/// Copies vectors into the columns of a multi-vector whose padding is NaN.
template <class T>
MultiVector<T> columns_of(const std::vector<Vector<T>>& vectors) {
  MultiVector<T> columns(vectors.front().size(), static_cast<int>(vectors.size()), device());
  copy(poisoned<T>(columns.entries().size()), columns.entries());
  for (int c = 0; c < columns.count(); ++c) set_column(on_device(vectors[static_cast<std::size_t>(c)]), {}, c, columns);
  return columns;
}

template <class T>
Vector<T> column(const MultiVector<T>& columns, int c) {
  Vector<T> vector(columns.rows(), columns.device());
  get_column(columns, c, {}, vector);
  return copied(vector, Device::host);
}

/// Checks that M^-1 of several vectors at once, with NaN as padding, equals M^-1 of each.
template <class T>
void check_columns(const solver::Preconditioner<T>& m, double rounding) {
  for (const int count : {2, 3, 9, 1}) {
    CAPTURE(count);
    std::vector<Vector<T>> r;
    for (int c = 0; c < count; ++c) r.push_back(random_vector<T>(m.size(), static_cast<unsigned>(c)));
    const MultiVector<T> all = columns_of(r);
    MultiVector<T> z(m.size(), count, device());
    copy(poisoned<T>(z.entries().size()), z.entries());
    m.apply(all, z);
    for (int c = 0; c < count; ++c) {
      Vector<T> alone = on_device(poisoned<T>(m.size()));
      m.apply(on_device(r[static_cast<std::size_t>(c)]), alone);
      const Vector<T> expected = copied(alone, Device::host), found = column(z, c);
      double difference = 0, norm = 0;
      for (std::int32_t i = 0; i < m.size(); ++i) {
        difference += std::pow(found[i] - expected[i], 2);
        norm += std::pow(expected[i], 2);
      }
      CHECK(difference <= rounding * rounding * norm);
    }
  }
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

/// Eigenvalues from 1 to `condition`, and random orthonormal eigenvectors.
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

/// from_eigen() on the device of the tests' operators.
template <class T>
Vector<T> device_vector(const Eigen::VectorXd& values) {
  return on_device(from_eigen<T>(values));
}

/// Moves vectors into a list.
template <class... Vectors>
auto list_of(Vectors... vectors) {
  std::vector<std::common_type_t<Vectors...>> list;
  (list.push_back(std::move(vectors)), ...);
  return list;
}

inline double largest(const std::vector<double>& of) {
  double most = 0;
  for (const double number : of) most = std::max(most, std::abs(number));
  return most;
}

/// Compares CG's result for one of several systems with its result for that system alone.
inline void check_solution(const solver::CgResult& result, const std::vector<double>& x, const solver::CgResult& alone,
                           const std::vector<double>& expected, double tolerance) {
  CHECK(result.reason == alone.reason);
  CHECK(result.true_relative_residual <= tolerance);
  REQUIRE(x.size() == expected.size());
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - expected[i]));
  CHECK(most <= 1e3 * tolerance * largest(expected));
  CHECK(result.history.size() == static_cast<std::size_t>(result.iterations) + (largest(expected) > 0 ? 1 : 0));
}

/// Calls check(a, b, preconditioner) for operators of every kind, preconditioners and numbers of systems.
template <class Check>
void for_systems(const Check& check) {
  const SmallForm small = make_form(mesh::CellShape::quadrilateral, 2, {9, 7, 0});
  const operators::ElementMatrices matrices = assemble_element_matrices(small.form);
  for (const char* name : {"csr", "sell", "pjds", "lma-coloured", "matrix-free"})
    for (const char* preconditioner : {"none", "jacobi", "chebyshev"})
      for (const int count : {1, 3, 8, 33}) {
        CAPTURE(name);
        CAPTURE(preconditioner);
        CAPTURE(count);
        const auto a = operators::find_operator(name)->make<double>(ingredients<double>(small.form, matrices), {});
        const auto m = solver::make_preconditioner<double>(preconditioner, *a);
        std::vector<Vector<double>> b;
        for (int c = 0; c < count; ++c) b.push_back(random_vector<double>(a->size(), 50 + c));
        check(*a, b, m.get());
      }
}

/// Checks solve(a, b, x, options) in single precision with residuals in double, for five systems of which `distinct`
/// differ.
template <class Solve>
void check_refinement(const Solve& solve, int distinct) {
  const SmallForm small = make_form(mesh::CellShape::triangle, 3, {6, 5, 0});
  const operators::ElementMatrices matrices = assemble_element_matrices(small.form);
  const auto a = operators::find_operator("csr")->make<float>(ingredients<float>(small.form, matrices), {});
  const CsrMatrix<double> exact = operators::assemble<double>(small.form, matrices);
  std::vector<Vector<float>> b;
  for (int c = 0; c < 5; ++c) b.push_back(random_vector<float>(a->size(), 80 + c % distinct));
  solver::SystemsCgOptions<float> options;
  options.tolerance = 1e-10;
  options.true_residual = [&](std::size_t c, const std::vector<double>& x) {
    std::vector<double> r;
    for (std::int32_t i = 0; i < exact.rows; ++i) {
      r.push_back(b[c][i]);
      for (std::int64_t k = exact.row_offsets[i]; k < exact.row_offsets[i + 1]; ++k)
        r.back() -= exact.values[k] * x[static_cast<std::size_t>(exact.columns[k])];
    }
    return r;
  };
  std::vector<std::vector<double>> x;
  for (const solver::CgResult& result : solve(*a, b, x, options)) {
    CHECK(result.reason == solver::StopReason::converged);
    CHECK(result.true_relative_residual <= 1e-10);
  }
}

/// Checks that solve(a, b, x, options) ends at the maximum of iterations and when the monitor returns false.
template <class Solve>
void check_limits(const Solve& solve, const Operator<double>& a, const std::vector<Vector<double>>& b) {
  std::vector<std::vector<double>> x;
  solver::SystemsCgOptions<double> options;
  options.max_iterations = 3;
  for (const solver::CgResult& result : solve(a, b, x, options)) {
    CHECK(result.reason == solver::StopReason::max_iterations);
    CHECK(result.iterations == 3);
  }
  int looked = 0;
  options = {};
  options.monitor = [&](const solver::SystemsIteration&) { return ++looked < 4; };
  for (const solver::CgResult& result : solve(a, b, x, options)) {
    CHECK(result.reason == solver::StopReason::interrupted);
    CHECK(result.iterations == 3);
  }
}

}  // namespace femcg::tests
