#pragma once

// Reference products with the assembled matrix in long double, with row-wise rounding bounds (derivation:
// solver/benchmark/product_rounding.cpp).

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/benchmark/product_rounding.hpp"
#include "tests/device.hpp"
#include "tests/rounding.hpp"

namespace femcg::tests {

/// Random numbers in [-1, 1) that single precision represents exactly.
inline std::vector<double> random_numbers(std::int32_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<double> x(static_cast<std::size_t>(n));
  for (double& number : x) number = static_cast<double>(uniform(random));
  return x;
}

template <class T>
operators::Vector<T> as_vector(const std::vector<double>& numbers) {
  operators::Vector<T> vector(static_cast<std::int64_t>(numbers.size()));
  std::ranges::transform(numbers, vector.data(), [](double number) { return static_cast<T>(number); });
  return vector;
}

/// y = A x and x'Ax of a form's matrix, with rounding bounds.
struct ExpectedProduct {
  ExpectedProduct(const operators::BilinearForm& form, const operators::CsrMatrix<double>& matrix,
                  std::vector<double> of)
      : x(std::move(of)),
        of_cells(solver::rounding_of_product(form, x)),
        of_matrix(solver::rounding_of_product(matrix, x)) {
    for (std::int32_t i = 0; i < matrix.rows; ++i) {
      y.push_back(0);
      for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k)
        y.back() += static_cast<long double>(matrix.values[k]) * x[matrix.columns[k]];
      energy += y.back() * x[i];
    }
  }

  /// Bounds for an operator made from the matrix, or from cells.
  const solver::ProductRounding& rounding(const operators::OperatorDescription& row) const {
    return row.needs == operators::Needs::matrix ? of_matrix : of_cells;
  }

  /// Number of entries that exceed the rounding bounds, or are not finite.
  template <class T>
  int wrong(const operators::OperatorDescription& row, const operators::Vector<T>& found) const {
    int count = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double bound = rounding(row).bound(i, unit_roundoff<T>);
      count += std::abs(found[static_cast<std::int64_t>(i)] - y[i]) <= bound ? 0 : 1;
    }
    return count;
  }

  /// |x|' times the bounds of the rows, plus the rounding of the sum of n products, whose terms are those of the rows.
  template <class T>
  long double energy_bound(const operators::OperatorDescription& row) const {
    const auto n = static_cast<long double>(y.size());
    const long double of_sum = gamma_of_energy<T>(row.name, n) + gamma<long double>(n);
    long double bound = 0;
    for (std::size_t i = 0; i < y.size(); ++i)
      bound += std::abs(x[i]) * (rounding(row).bound(i, unit_roundoff<T>) + of_sum * rounding(row).terms[i]);
    return bound;
  }

  std::vector<double> x;
  solver::ProductRounding of_cells, of_matrix;
  std::vector<long double> y;
  long double energy = 0;
};

/// A_ii with rounding bounds: a stored entry is rounded once, and the terms of a sum over cells are bounded by those of
/// the product with ones.
struct ExpectedDiagonal {
  ExpectedDiagonal(const operators::BilinearForm& form, const operators::CsrMatrix<double>& matrix)
      : of_cells(solver::rounding_of_product(form, std::vector<double>(static_cast<std::size_t>(matrix.rows), 1.0))) {
    for (std::int32_t i = 0; i < matrix.rows; ++i)
      for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k)
        if (matrix.columns[k] == i) d.push_back(matrix.values[k]);
  }

  template <class T>
  int wrong(const operators::OperatorDescription& row, const operators::Vector<T>& found) const {
    int count = 0;
    for (std::size_t i = 0; i < d.size(); ++i) {
      const double bound = row.needs == operators::Needs::matrix
                               ? static_cast<double>(unit_roundoff<T>) * std::abs(d[i])
                               : of_cells.bound(i, unit_roundoff<T>);
      count += std::abs(found[static_cast<std::int64_t>(i)] - d[i]) <= bound ? 0 : 1;
    }
    return count;
  }

  solver::ProductRounding of_cells;
  std::vector<double> d;
};

}  // namespace femcg::tests
