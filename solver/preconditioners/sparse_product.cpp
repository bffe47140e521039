#include "solver/preconditioners/sparse_product.hpp"

namespace femcg::solver {

using operators::RectangularMatrix;

RectangularMatrix product(const RectangularMatrix& a, const RectangularMatrix& b) {
  const auto work = [&](std::int64_t row) { return a.row_offsets[row]; };
  return matrix_of_rows(a.rows, b.columns, work, [&] {
    const auto columns = static_cast<std::size_t>(b.columns);
    return [&, sums = std::vector<double>(columns, 0.0), is_there = std::vector<char>(columns, 0)](
               std::int64_t row, std::vector<std::int32_t>& column, std::vector<double>& value) mutable {
      const auto begin = std::ssize(column);
      for (std::int64_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
        const std::int32_t middle = a.column[k];
        for (std::int64_t l = b.row_offsets[middle]; l < b.row_offsets[middle + 1]; ++l) {
          const std::int32_t j = b.column[l];
          if (std::exchange(is_there[j], 1) == 0) column.push_back(j);
          sums[j] += a.value[k] * b.value[l];
        }
      }
      std::sort(column.begin() + begin, column.end());
      for (std::size_t k = begin; k < column.size(); ++k) {
        value.push_back(std::exchange(sums[column[k]], 0.0));
        is_there[column[k]] = 0;
      }
    };
  });
}

std::vector<double> diagonal_of(const RectangularMatrix& a) {
  std::vector<double> diagonal(static_cast<std::size_t>(a.rows), 0.0);
  operators::for_each_row(a.rows, [&](std::int64_t row) {
    for (std::int64_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k)
      if (a.column[k] == row) diagonal[row] = a.value[k];
  });
  return diagonal;
}

RectangularMatrix galerkin(const RectangularMatrix& a, const RectangularMatrix& p) {
  const RectangularMatrix ap = product(a, p);
  return product(operators::transposed(p), ap);
}

}  // namespace femcg::solver
