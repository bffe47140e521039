#include "operators/stored/assembled/coordinate_matrix.hpp"

#include <omp.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "mesh/base/first_failure.hpp"
#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::operators {

namespace {

/// Number of threads. Every thread reads all entries and keeps those of its own rows: nothing is shared, the order of
/// the entries is kept, and entries are read at memory bandwidth. Beyond sixteen threads they would be read too often;
/// few entries are not worth waking threads.
int threads_for(const EntryBlocks& blocks) {
  std::int64_t entries = 0;
  for (const Vector<Entry>& block : blocks) entries += block.size();
  return static_cast<int>(std::min<std::int64_t>({omp_get_max_threads(), 16, entries / 10000 + 1}));
}

/// Calls body(row, column, value) for the entries of rows [first, last) in order, mirrored ones included.
template <class Body>
void for_entries(const EntryBlocks& blocks, Mirror mirror, std::int64_t first, std::int64_t last, const Body& body) {
  for (const Vector<Entry>& block : blocks)
    for (const Entry& entry : block.span()) {
      if (first <= entry.row && entry.row < last) body(entry.row, entry.column, entry.value);
      if (mirror != Mirror::none && entry.row != entry.column && first <= entry.column && entry.column < last)
        body(entry.column, entry.row, mirror == Mirror::same ? entry.value : -entry.value);
    }
}

/// Writes the length of row i to counts[i + 1], and 0 to counts[0].
void count_rows(std::int32_t rows, const EntryBlocks& blocks, Mirror mirror, std::int64_t* counts) {
#pragma omp parallel num_threads(threads_for(blocks))
  {
    const std::int64_t thread = omp_get_thread_num(), threads = omp_get_num_threads();
    const std::int64_t first = rows * thread / threads, last = rows * (thread + 1) / threads;
    std::fill(counts + first + 1, counts + last + 1, 0);
    for_entries(blocks, mirror, first, last, [&](std::int32_t row, std::int32_t, double) { ++counts[row + 1]; });
  }
  counts[0] = 0;
}

/// Writes the entries to their rows, in order.
void scatter(const EntryBlocks& blocks, Mirror mirror, CsrMatrix<double>& matrix) {
  matrix.columns = Vector<std::int32_t>(matrix.nonzeros());
  matrix.values = Vector<double>(matrix.nonzeros());
  Vector<std::int64_t> next(matrix.rows);
  const std::int64_t* offsets = matrix.row_offsets.data();
  const auto work = [&](std::int64_t row) { return offsets[row]; };
#pragma omp parallel num_threads(threads_for(blocks))
  {
    const auto share = blocks_of_share(matrix.rows, work, omp_get_thread_num(), omp_get_num_threads());
    const std::int64_t first = std::min<std::int64_t>(matrix.rows, share.first * rows_per_block);
    const std::int64_t last = std::min<std::int64_t>(matrix.rows, share.second * rows_per_block);
    std::copy(offsets + first, offsets + last, next.data() + first);
    for_entries(blocks, mirror, first, last, [&](std::int32_t row, std::int32_t column, double value) {
      const std::int64_t k = next[row]++;
      matrix.columns[k] = column;
      matrix.values[k] = value;
    });
  }
}

/// Sorts one row by column and adds up duplicates, in order. Returns the number of entries that remain, at its front.
std::int64_t merge_row(std::int32_t* columns, double* values, std::int64_t size,
                       std::vector<std::pair<std::int32_t, double>>& scratch) {
  // Files are mostly sorted by columns or by rows; in either case rows are sorted.
  if (std::adjacent_find(columns, columns + size, std::greater_equal<>()) == columns + size) return size;
  scratch.clear();
  for (std::int64_t k = 0; k < size; ++k) scratch.emplace_back(columns[k], values[k]);
  std::stable_sort(scratch.begin(), scratch.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::int64_t kept = 0;
  for (const auto& [column, value] : scratch) {
    if (kept > 0 && columns[kept - 1] == column) {
      values[kept - 1] += value;
    } else {
      columns[kept] = column;
      values[kept++] = value;
    }
  }
  return kept;
}

/// Removes the gaps behind rows, where row i has lengths[i + 1] entries.
CsrMatrix<double> close_gaps(const CsrMatrix<double>& gappy, Vector<std::int64_t> lengths) {
  CsrMatrix<double> matrix;
  matrix.rows = gappy.rows;
  std::partial_sum(lengths.data(), lengths.data() + lengths.size(), lengths.data());
  matrix.row_offsets = std::move(lengths);
  matrix.columns = Vector<std::int32_t>(matrix.nonzeros());
  matrix.values = Vector<double>(matrix.nonzeros());
#pragma omp parallel for schedule(static)
  for (std::int32_t row = 0; row < matrix.rows; ++row) {
    const std::int64_t from = gappy.row_offsets[row], to = matrix.row_offsets[row];
    const std::int64_t size = matrix.row_offsets[row + 1] - to;
    std::copy_n(gappy.columns.data() + from, size, matrix.columns.data() + to);
    std::copy_n(gappy.values.data() + from, size, matrix.values.data() + to);
  }
  return matrix;
}

}  // namespace

CsrMatrix<double> compress(std::int32_t rows, const EntryBlocks& entries, Mirror mirror) {
  CsrMatrix<double> matrix;
  matrix.rows = rows;
  matrix.row_offsets = Vector<std::int64_t>(rows + std::int64_t{1});
  count_rows(rows, entries, mirror, matrix.row_offsets.data());
  std::partial_sum(matrix.row_offsets.data(), matrix.row_offsets.data() + matrix.row_offsets.size(),
                   matrix.row_offsets.data());
  scatter(entries, mirror, matrix);

  Vector<std::int64_t> lengths(rows + std::int64_t{1});
  lengths[0] = 0;
  std::int64_t kept = 0;
  mesh::FirstFailure failure;
#pragma omp parallel reduction(+ : kept) if (rows > rows_per_block)
  {
    std::vector<std::pair<std::int32_t, double>> scratch;
#pragma omp for schedule(dynamic, rows_per_block)
    for (std::int32_t row = 0; row < rows; ++row)
      failure.guard(row, [&] {
        const std::int64_t begin = matrix.row_offsets[row], end = matrix.row_offsets[row + 1];
        lengths[row + 1] = merge_row(matrix.columns.data() + begin, matrix.values.data() + begin, end - begin, scratch);
        kept += lengths[row + 1];
      });
  }
  failure.rethrow();
  return kept == matrix.nonzeros() ? std::move(matrix) : close_gaps(matrix, std::move(lengths));
}

}  // namespace femcg::operators
