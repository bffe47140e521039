#include "operators/aggregation/rectangular_matrix.hpp"

#include <utility>

#include "operators/aggregation/diagonal_entry.hpp"
#include "operators/aggregation/on_host.hpp"

namespace femcg::operators {

RectangularMatrix copied(const RectangularMatrix& matrix, Device device) {
  return {matrix.rows, matrix.columns, copied(matrix.row_offsets, device), copied(matrix.column, device),
          copied(matrix.value, device)};
}

RectangularMatrix transposed(const RectangularMatrix& matrix) {
  if (matrix.device() == Device::cuda) return cuda_transposed(matrix);
  constexpr int parts = 8;  // of the rows, in parallel; per column in the order of the parts
  const auto for_parts = [&](const auto& work) {
    for_shares([&](int share, int shares) {
      for (int part = parts * share / shares; part < parts * (share + 1) / shares; ++part)
        for (std::int64_t row = matrix.rows * std::int64_t{part} / parts;
             row < matrix.rows * (part + std::int64_t{1}) / parts; ++row)
          for (std::int64_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k)
            work(static_cast<std::int32_t>(row), k, std::int64_t{part} * matrix.columns + matrix.column[k]);
    });
  };
  RectangularMatrix result;
  result.rows = matrix.columns;
  result.columns = matrix.rows;
  Vector<std::int64_t> next(std::int64_t{parts} * matrix.columns);  // [parts][columns]
  fill(next, std::int64_t{0});
  for_parts([&](std::int32_t, std::int64_t, std::int64_t at) { ++next[at]; });
  result.row_offsets = Vector<std::int64_t>(matrix.columns + std::int64_t{1});
  std::int64_t sum = 0;
  for (std::int64_t column = 0; column < matrix.columns; ++column) {
    result.row_offsets[column] = sum;
    for (std::int64_t at = column; at < next.size(); at += matrix.columns) sum += std::exchange(next[at], sum);
  }
  result.row_offsets[matrix.columns] = sum;
  result.column = Vector<std::int32_t>(sum);
  result.value = Vector<double>(sum);
  for_parts([&](std::int32_t row, std::int64_t k, std::int64_t at) {
    const std::int64_t to = next[at]++;
    result.column[to] = row;
    result.value[to] = matrix.value[k];
  });
  return result;
}

Vector<double> diagonal_of(const RectangularMatrix& a) {
  return a.device() == Device::cuda ? cuda_diagonal_of(a) : diagonal_on(OnHost(), a);
}

}  // namespace femcg::operators
