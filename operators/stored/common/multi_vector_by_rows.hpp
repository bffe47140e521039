#pragma once

// The product of a stored matrix with a multi-vector on the host, Y = A X, row by row: an entry of the matrix is read
// once and multiplies a contiguous row of X. A format provides its matrix by rows, as plain data with constexpr
// functions:
//
//   using Value = ...;
//   std::int32_t rows;
//   Row find(std::int32_t position) const;          // a Row has its `number` and the `count` of its entries, ...
//   std::int32_t column(const Row&, std::int32_t k) const;
//   Value value(const Row&, std::int32_t k) const;  // ... k < count
//
// Positions are the order of the rows in memory.

#include <algorithm>
#include <array>
#include <cstring>

#include "operators/backend/multi_vector.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/backend/threads/simd.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::operators {

/// Compressed rows.
template <class Value_>
struct CsrByRows {
  using Value = Value_;
  struct Row {
    std::int32_t number, count;
    std::int64_t begin;
  };
  std::int32_t rows;
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const Value* values;
  constexpr Row find(std::int32_t row) const {
    return {row, static_cast<std::int32_t>(offsets[row + 1] - offsets[row]), offsets[row]};
  }
  constexpr std::int32_t column(const Row& row, std::int32_t k) const { return columns[row.begin + k]; }
  constexpr Value value(const Row& row, std::int32_t k) const { return values[row.begin + k]; }
};
template <std::floating_point Value>
CsrByRows<Value> csr_by_rows(const CsrMatrix<Value>& matrix) {
  return {matrix.rows, matrix.row_offsets.data(), matrix.columns.data(), matrix.values.data()};
}

/// A sum for each column.
template <int stride>
struct ColumnSums {
  std::array<double, stride> of{};
  ColumnSums& operator+=(const ColumnSums& other) {
    for (int c = 0; c < stride; ++c) of[c] += other.of[c];
    return *this;
  }
};

/// A row of X or Y in registers.
template <std::floating_point T, int stride>
struct RowOfMultiVector {
  static constexpr int width = std::min<int>(stride, 32 / sizeof(T)), packs = stride / width;
  Pack<T, width> of[packs]{};

  void add(T value, const T* row) {
    for (int p = 0; p < packs; ++p) of[p] += value * load<width>(row + p * width);
  }
  void add(const RowOfMultiVector& other) {
    for (int p = 0; p < packs; ++p) of[p] += other.of[p];
  }
};

/// energies += the products of two rows, column by column.
template <int stride, std::floating_point T>
void add_products_of_rows(const T* x, const T* y, std::array<double, stride>& energies) {
#pragma omp simd
  for (int c = 0; c < stride; ++c) energies[c] += static_cast<double>(x[c]) * static_cast<double>(y[c]);
}

/// Computes the rows at the positions first <= i < last of Y = A X; returns their contributions to x_c'y_c.
template <int stride, std::floating_point T, class Matrix>
ColumnSums<stride> multiply_rows_by_columns(const Matrix& a, const T* x, T* y, std::int64_t first, std::int64_t last) {
  ColumnSums<stride> energies;
  for (std::int64_t position = first; position < last; ++position) {
    const auto row = a.find(static_cast<std::int32_t>(position));
    // If a row of X is few registers, two chains of additions, to hide their latency.
    constexpr bool two_chains = RowOfMultiVector<T, stride>::packs <= 4;
    RowOfMultiVector<T, stride> sum, odd;
    const auto add = [&](RowOfMultiVector<T, stride>& to, std::int32_t k) {
      to.add(static_cast<T>(a.value(row, k)), x + std::int64_t{a.column(row, k)} * stride);
    };
    std::int32_t k = 0;
    if constexpr (two_chains)
      for (; k + 2 <= row.count; k += 2) {
        add(sum, k);
        add(odd, k + 1);
      }
    for (; k < row.count; ++k) add(sum, k);
    if constexpr (two_chains) sum.add(odd);
    T* to = y + std::int64_t{row.number} * stride;
    std::memcpy(to, sum.of, sizeof sum.of);
    add_products_of_rows<stride>(x + std::int64_t{row.number} * stride, to, energies.of);
  }
  return energies;
}

/// Y = A X, and x_c'y_c if `energies` is not null. `work` as in sum_over_row_blocks, over positions.
template <std::floating_point T, class Matrix, class Work>
void multiply_multi_vector_by_rows(const Matrix& a, const Work& work, const MultiVector<T>& x, MultiVector<T>& y,
                                   double* energies) {
  with_stride(x.stride(), [&]<int stride>() {
    const auto sums = sum_over_row_blocks(a.rows, work, [&](std::int64_t first, std::int64_t last) {
      return multiply_rows_by_columns<stride>(a, x.data(), y.data(), first, last);
    });
    if (energies != nullptr) std::copy(sums.of.begin(), sums.of.end(), energies);
  });
}

}  // namespace femcg::operators
