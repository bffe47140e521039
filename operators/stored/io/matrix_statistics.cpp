#include "operators/stored/io/matrix_statistics.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "mesh/base/first_failure.hpp"
#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::operators {

namespace {

/// Sums, counts and maxima over some rows.
struct Tally {
  std::map<std::int32_t, std::int32_t> rows_of_length;
  std::int64_t unmatched = 0;
  std::int32_t bandwidth = 0, absent_diagonals = 0, diagonals_not_positive = 0;
  double asymmetry = 0;

  void operator+=(const Tally& other) {
    for (const auto& [length, rows] : other.rows_of_length) rows_of_length[length] += rows;
    unmatched += other.unmatched;
    bandwidth = std::max(bandwidth, other.bandwidth);
    absent_diagonals += other.absent_diagonals;
    diagonals_not_positive += other.diagonals_not_positive;
    asymmetry = std::max(asymmetry, other.asymmetry);
  }
};

/// Index of entry (row, column), -1 if there is none.
template <class T>
std::int64_t find(const CsrMatrix<T>& matrix, std::int32_t row, std::int32_t column) {
  const std::int32_t* first = matrix.columns.data() + matrix.row_offsets[row];
  const std::int32_t* last = matrix.columns.data() + matrix.row_offsets[row + 1];
  const std::int32_t* place = std::lower_bound(first, last, column);
  return place != last && *place == column ? place - matrix.columns.data() : -1;
}

/// max_j |a_ij| of every row.
template <class T>
Vector<T> greatest_entries(const CsrMatrix<T>& matrix) {
  Vector<T> greatest(matrix.rows);
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < matrix.rows; ++i) {
    greatest[i] = 0;
    for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k)
      greatest[i] = std::max(greatest[i], std::abs(matrix.values[k]));
  }
  return greatest;
}

template <class T>
void add_row(const CsrMatrix<T>& matrix, const Vector<T>& greatest, std::int32_t i, Tally& tally) {
  const std::int64_t begin = matrix.row_offsets[i], end = matrix.row_offsets[i + 1];
  ++tally.rows_of_length[static_cast<std::int32_t>(end - begin)];
  bool has_diagonal = false;
  for (std::int64_t k = begin; k < end; ++k) {
    const std::int32_t j = matrix.columns[k];
    tally.bandwidth = std::max(tally.bandwidth, std::abs(i - j));
    if (i == j) {
      has_diagonal = true;
      if (!(matrix.values[k] > 0)) ++tally.diagonals_not_positive;
      continue;
    }
    const std::int64_t mirror = find(matrix, j, i);
    if (mirror < 0) ++tally.unmatched;
    const T difference = std::abs(matrix.values[k] - (mirror < 0 ? T(0) : matrix.values[mirror]));
    if (difference > 0)
      tally.asymmetry = std::max(tally.asymmetry, static_cast<double>(difference / std::max(greatest[i], greatest[j])));
  }
  if (!has_diagonal) ++tally.absent_diagonals;
}

}  // namespace

template <std::floating_point T>
MatrixStatistics statistics(const CsrMatrix<T>& matrix) {
  MatrixStatistics result;
  if (matrix.rows == 0) return result;
  const Vector<T> greatest = greatest_entries(matrix);
  const auto work = [&](std::int64_t row) { return matrix.row_offsets[row]; };
  const Tally tally = sum_over_row_blocks(matrix.rows, work, [&](std::int64_t first, std::int64_t last) {
    Tally part;
    for (std::int64_t i = first; i < last; ++i) add_row(matrix, greatest, static_cast<std::int32_t>(i), part);
    return part;
  });
  result.rows_of_length = tally.rows_of_length;
  result.shortest_row = tally.rows_of_length.begin()->first;
  result.longest_row = tally.rows_of_length.rbegin()->first;
  result.mean_row = static_cast<double>(matrix.nonzeros()) / matrix.rows;
  double squares = 0;
  for (const auto& [length, rows] : tally.rows_of_length)
    squares += rows * (length - result.mean_row) * (length - result.mean_row);
  result.row_deviation = std::sqrt(squares / matrix.rows);
  result.bandwidth = tally.bandwidth;
  result.unmatched_entries = tally.unmatched;
  result.asymmetry = tally.asymmetry;
  result.absent_diagonals = tally.absent_diagonals;
  result.diagonals_not_positive = tally.diagonals_not_positive;
  return result;
}

std::int64_t cached_input_bytes(std::span<const std::int64_t> row_offsets, std::span<const std::int32_t> columns,
                                std::int32_t rows, std::int32_t block_rows, std::int64_t bytes_per_word,
                                std::int64_t bytes_per_line) {
  assert(block_rows > 0 && bytes_per_word > 0 && bytes_per_line % bytes_per_word == 0);
  const std::int64_t words_per_line = bytes_per_line / bytes_per_word;
  const std::int64_t blocks = (std::int64_t{rows} + block_rows - 1) / block_rows;
  std::int64_t lines = 0;
  mesh::FirstFailure failure;
#pragma omp parallel reduction(+ : lines)
  {
    std::vector<std::int64_t> last_block;  // the last block that used each line
    failure.guard(mesh::FirstFailure::preparation, [&] { last_block.assign(rows / words_per_line + 1, -1); });
#pragma omp for schedule(static)
    for (std::int64_t block = 0; block < blocks; ++block)
      failure.guard(block, [&] {
        const std::int64_t first = block * block_rows, last = std::min<std::int64_t>(rows, first + block_rows);
        for (std::int64_t k = row_offsets[first]; k < row_offsets[last]; ++k) {
          std::int64_t& toucher = last_block[columns[k] / words_per_line];
          lines += toucher == block ? 0 : 1;
          toucher = block;
        }
      });
  }
  failure.rethrow();
  return lines * bytes_per_line;
}

template MatrixStatistics statistics(const CsrMatrix<double>&);
template MatrixStatistics statistics(const CsrMatrix<float>&);

}  // namespace femcg::operators
