#include "solver/preconditioners/sparse_product.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::solver {

using operators::RectangularMatrix;
using operators::Vector;

namespace {

/// Rows [first, last) of a product, one after the other.
struct RowsOfProduct {
  std::vector<std::int64_t> lengths;
  std::vector<std::int32_t> column;
  std::vector<double> value;
};

/// The rows of one block; `sums` is zero for all columns, before and after.
RowsOfProduct rows_of_product(const RectangularMatrix& a, const RectangularMatrix& b, std::int64_t first,
                              std::int64_t last, std::vector<double>& sums, std::vector<char>& is_there) {
  RowsOfProduct rows;
  for (std::int64_t row = first; row < last; ++row) {
    const std::size_t begin = rows.column.size();
    for (std::int64_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
      const std::int32_t middle = a.column[k];
      for (std::int64_t l = b.row_offsets[middle]; l < b.row_offsets[middle + 1]; ++l) {
        const std::int32_t column = b.column[l];
        if (is_there[column] == 0) {
          is_there[column] = 1;
          rows.column.push_back(column);
        }
        sums[column] += a.value[k] * b.value[l];
      }
    }
    std::sort(rows.column.begin() + static_cast<std::ptrdiff_t>(begin), rows.column.end());
    for (std::size_t k = begin; k < rows.column.size(); ++k) {
      rows.value.push_back(std::exchange(sums[rows.column[k]], 0.0));
      is_there[rows.column[k]] = 0;
    }
    rows.lengths.push_back(static_cast<std::int64_t>(rows.column.size() - begin));
  }
  return rows;
}

}  // namespace

RectangularMatrix product(const RectangularMatrix& a, const RectangularMatrix& b) {
  const std::int64_t blocks = (a.rows + operators::rows_per_block - 1) / operators::rows_per_block;
  std::vector<RowsOfProduct> of_blocks(static_cast<std::size_t>(blocks));
  const auto work = [&](std::int64_t row) { return a.row_offsets[row]; };
  const auto bounds = [&](std::int64_t block) {
    return std::pair(block * operators::rows_per_block,
                     std::min<std::int64_t>(a.rows, (block + 1) * operators::rows_per_block));
  };
  operators::for_shares([&](int share, int shares) {
    std::vector<double> sums(static_cast<std::size_t>(b.columns), 0.0);
    std::vector<char> is_there(sums.size(), 0);
    const auto [from, to] = operators::blocks_of_share(a.rows, work, share, shares);
    for (std::int64_t block = from; block < to; ++block) {
      const auto [first, last] = bounds(block);
      of_blocks[static_cast<std::size_t>(block)] = rows_of_product(a, b, first, last, sums, is_there);
    }
  });

  RectangularMatrix c;
  c.rows = a.rows;
  c.columns = b.columns;
  c.row_offsets = Vector<std::int64_t>(a.rows + std::int64_t{1});
  std::int64_t row = 0, sum = 0;
  c.row_offsets[0] = 0;
  for (const RowsOfProduct& rows : of_blocks)
    for (const std::int64_t length : rows.lengths) c.row_offsets[++row] = sum += length;
  c.column = Vector<std::int32_t>(sum);
  c.value = Vector<double>(sum);
  operators::for_row_blocks(a.rows, work, [&](std::int64_t first, std::int64_t) {
    const RowsOfProduct& rows = of_blocks[static_cast<std::size_t>(first / operators::rows_per_block)];
    std::ranges::copy(rows.column, c.column.data() + c.row_offsets[first]);
    std::ranges::copy(rows.value, c.value.data() + c.row_offsets[first]);
  });
  return c;
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
