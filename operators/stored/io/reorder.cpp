#include "operators/stored/io/reorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "mesh/dofs/ordering.hpp"
#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::operators {

namespace {

/// Sparsity pattern of a matrix.
struct Structure {
  Vector<std::int64_t> row_offsets;
  Vector<std::int32_t> columns;
};

/// The columns of a row of a matrix or a pattern.
template <class Rows>
std::span<const std::int32_t> row_of(const Rows& matrix, std::int64_t i) {
  return matrix.columns.span().subspan(matrix.row_offsets[i], matrix.row_offsets[i + 1] - matrix.row_offsets[i]);
}

template <class T>
bool has_symmetric_structure(const CsrMatrix<T>& matrix) {
  const auto work = [&](std::int64_t row) { return matrix.row_offsets[row]; };
  return sum_over_row_blocks(matrix.rows, work, [&](std::int64_t first, std::int64_t last) {
           std::int64_t unmatched = 0;
           for (std::int64_t i = first; i < last; ++i)
             for (const std::int32_t j : row_of(matrix, i)) {
               const auto mirror = row_of(matrix, j);
               unmatched += std::binary_search(mirror.begin(), mirror.end(), i) ? 0 : 1;
             }
           return unmatched;
         }) == 0;
}

/// The pattern of A', columns ascending since the rows of A are processed in order.
template <class T>
Structure transposed(const CsrMatrix<T>& matrix) {
  Structure result{Vector<std::int64_t>(matrix.rows + std::int64_t{1}), Vector<std::int32_t>(matrix.nonzeros())};
  fill(result.row_offsets, std::int64_t{0});
  for (const std::int32_t j : matrix.columns.span()) ++result.row_offsets[j + 1];
  std::partial_sum(result.row_offsets.data(), result.row_offsets.data() + result.row_offsets.size(),
                   result.row_offsets.data());
  std::vector<std::int64_t> next(result.row_offsets.data(), result.row_offsets.data() + matrix.rows);
  for (std::int32_t i = 0; i < matrix.rows; ++i)
    for (const std::int32_t j : row_of(matrix, i)) result.columns[next[j]++] = i;
  return result;
}

/// The pattern of A + A'.
template <class T>
Structure symmetrised(const CsrMatrix<T>& matrix) {
  const Structure transpose = transposed(matrix);
  Structure sum{Vector<std::int64_t>(matrix.rows + std::int64_t{1}), {}};
  std::vector<std::int32_t> merged;
  const auto merge = [&](std::int32_t i) {
    merged.clear();
    const auto a = row_of(matrix, i), b = row_of(transpose, i);
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(merged));
  };
  sum.row_offsets[0] = 0;
  for (std::int32_t i = 0; i < matrix.rows; ++i) {
    merge(i);
    sum.row_offsets[i + 1] = sum.row_offsets[i] + static_cast<std::int64_t>(merged.size());
  }
  sum.columns = Vector<std::int32_t>(sum.row_offsets[matrix.rows]);
  for (std::int32_t i = 0; i < matrix.rows; ++i) {
    merge(i);
    std::copy(merged.begin(), merged.end(), sum.columns.data() + sum.row_offsets[i]);
  }
  return sum;
}

/// Inverse of a permutation: the old number of every new row.
std::vector<std::int32_t> inverse(std::span<const std::int32_t> permutation, std::int32_t rows) {
  std::vector<std::int32_t> old(rows, -1);
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    const std::int32_t position = permutation[i];
    if (position < 0 || position >= rows || old[position] >= 0) break;
    old[position] = static_cast<std::int32_t>(i);
  }
  if (permutation.size() != old.size() || std::find(old.begin(), old.end(), -1) != old.end())
    throw std::invalid_argument(fmt::format("this is no permutation of the {} rows of a matrix", rows));
  return old;
}

}  // namespace

template <std::floating_point T>
std::vector<std::int32_t> reverse_cuthill_mckee(const CsrMatrix<T>& matrix) {
  if (matrix.rows == 0) return {};
  if (has_symmetric_structure(matrix))
    return mesh::reverse_cuthill_mckee(matrix.row_offsets.span(), matrix.columns.span());
  const Structure structure = symmetrised(matrix);
  return mesh::reverse_cuthill_mckee(structure.row_offsets.span(), structure.columns.span());
}

template <std::floating_point T>
CsrMatrix<T> permute(const CsrMatrix<T>& matrix, std::span<const std::int32_t> permutation) {
  const std::vector<std::int32_t> old = inverse(permutation, matrix.rows);
  CsrMatrix<T> result;
  result.rows = matrix.rows;
  result.row_offsets = Vector<std::int64_t>(matrix.rows + std::int64_t{1});
  result.row_offsets[0] = 0;
  for (std::int32_t i = 0; i < matrix.rows; ++i)
    result.row_offsets[i + 1] = result.row_offsets[i] + static_cast<std::int64_t>(row_of(matrix, old[i]).size());
  result.columns = Vector<std::int32_t>(matrix.nonzeros());
  result.values = Vector<T>(matrix.nonzeros());
  const auto work = [&](std::int64_t row) { return result.row_offsets[row]; };
  for_row_blocks(matrix.rows, work, [&](std::int64_t first, std::int64_t last) {
    std::vector<std::pair<std::int32_t, T>> row;
    for (std::int64_t i = first; i < last; ++i) {
      row.clear();
      for (std::int64_t k = matrix.row_offsets[old[i]]; k < matrix.row_offsets[old[i] + 1]; ++k)
        row.emplace_back(permutation[matrix.columns[k]], matrix.values[k]);
      std::sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      std::int64_t k = result.row_offsets[i];
      for (const auto& [column, value] : row) {
        result.columns[k] = column;
        result.values[k++] = value;
      }
    }
  });
  return result;
}

template std::vector<std::int32_t> reverse_cuthill_mckee(const CsrMatrix<double>&);
template std::vector<std::int32_t> reverse_cuthill_mckee(const CsrMatrix<float>&);
template CsrMatrix<double> permute(const CsrMatrix<double>&, std::span<const std::int32_t>);
template CsrMatrix<float> permute(const CsrMatrix<float>&, std::span<const std::int32_t>);

}  // namespace femcg::operators
