// Statistics of small matrices by hand, and of random ones by recounting.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "operators/stored/io/matrix_statistics.hpp"
#include "tests/threads.hpp"

namespace {

using namespace femcg::operators;
using femcg::tests::Threads;

using Rows = std::vector<std::map<std::int32_t, double>>;

template <class T = double>
CsrMatrix<T> compress(const Rows& rows) {
  CsrMatrix<T> matrix;
  matrix.rows = static_cast<std::int32_t>(rows.size());
  matrix.row_offsets = Vector<std::int64_t>(matrix.rows + std::int64_t{1});
  matrix.row_offsets[0] = 0;
  for (std::int32_t i = 0; i < matrix.rows; ++i)
    matrix.row_offsets[i + 1] = matrix.row_offsets[i] + static_cast<std::int64_t>(rows[i].size());
  matrix.columns = Vector<std::int32_t>(matrix.nonzeros());
  matrix.values = Vector<T>(matrix.nonzeros());
  std::int64_t k = 0;
  for (const auto& row : rows)
    for (const auto& [column, value] : row) {
      matrix.columns[k] = column;
      matrix.values[k++] = static_cast<T>(value);
    }
  return matrix;
}

Rows random_rows(std::int32_t n, unsigned seed) {
  std::mt19937 random(seed);
  Rows rows(n);
  for (auto& row : rows)
    for (unsigned length = random() % 20; length > 0; --length)
      row[static_cast<std::int32_t>(random() % n)] = static_cast<double>(random()) - 2e9;
  return rows;
}

std::int64_t cached(const CsrMatrix<double>& matrix, std::int32_t block_rows, std::int64_t word, std::int64_t line) {
  return cached_input_bytes(matrix.row_offsets.span(), matrix.columns.span(), matrix.rows, block_rows, word, line);
}

}  // namespace

TEST_CASE_TEMPLATE("a matrix by hand", T, double, float) {
  //      4  .  .  2
  //  A = .  .  .  .
  //      .  1 -8  .
  //      2  .  .  0
  const MatrixStatistics s = statistics(compress<T>({{{0, 4}, {3, 2}}, {}, {{1, 1}, {2, -8}}, {{0, 2}, {3, 0}}}));
  CHECK(s.shortest_row == 0);
  CHECK(s.longest_row == 2);
  CHECK(s.mean_row == 1.5);
  CHECK(s.row_deviation == doctest::Approx(std::sqrt(0.75)).epsilon(1e-15));
  CHECK(s.rows_of_length == std::map<std::int32_t, std::int32_t>{{0, 1}, {2, 3}});
  CHECK(s.bandwidth == 3);
  CHECK(s.unmatched_entries == 1);
  CHECK(s.asymmetry == 1.0 / 8);
  CHECK(s.absent_diagonals == 1);
  CHECK(s.diagonals_not_positive == 2);
  CHECK_FALSE(s.symmetric());
  CHECK_FALSE(s.symmetric_to_rounding());
  CHECK_FALSE(s.positive_diagonal());
}

TEST_CASE("symmetric in structure, in values to rounding, in values exactly") {
  const auto with = [](double a, double b) { return statistics(compress({{{0, 2}, {1, a}}, {{0, b}, {1, 1e-3}}})); };
  CHECK(with(-1, -1).symmetric());
  CHECK(with(-1, -1).positive_diagonal());
  const MatrixStatistics rounded = with(1, 1 + 1e-15);
  CHECK(rounded.unmatched_entries == 0);
  CHECK_FALSE(rounded.symmetric());
  CHECK(rounded.symmetric_to_rounding());
  CHECK(with(1, -1).unmatched_entries == 0);
  CHECK(with(1, -1).asymmetry == 1);  // |1 + 1| over the diagonal's 2
  CHECK_FALSE(with(1, 1 + 1e-9).symmetric_to_rounding());

  // An explicit zero makes the structure unsymmetric, but not the values.
  const MatrixStatistics zero = statistics(compress({{{0, 1}, {1, 0}}, {{1, 1}}}));
  CHECK(zero.unmatched_entries > 0);
  CHECK(zero.symmetric());
}

TEST_CASE("no rows, no entries") {
  CHECK(statistics(CsrMatrix<double>{}).rows_of_length.empty());
  CHECK(statistics(CsrMatrix<double>{}).mean_row == 0);
  const MatrixStatistics s = statistics(compress(Rows(1000)));
  CHECK(s.longest_row == 0);
  CHECK(s.absent_diagonals == 1000);
  CHECK(s.symmetric());
  CHECK(cached(compress(Rows(1000)), 64, 8, 128) == 0);
  CHECK(cached_input_bytes({}, {}, 0, 64, 8, 128) == 0);
}

TEST_CASE("random matrices, on any number of threads") {
  const Rows rows = random_rows(2500, 1);
  std::int64_t entries = 0, unmatched = 0;
  std::int32_t widest = 0;
  for (std::int32_t i = 0; i < 2500; ++i) {
    entries += static_cast<std::int64_t>(rows[i].size());
    for (const auto& [j, value] : rows[i]) {
      widest = std::max(widest, std::abs(i - j));
      unmatched += rows[j].contains(i) ? 0 : 1;
    }
  }
  double first_asymmetry = -1;
  for (const int count : {1, 2, 5}) {
    const Threads threads(count);
    const MatrixStatistics s = statistics(compress(rows));
    CHECK(s.mean_row == static_cast<double>(entries) / 2500);
    CHECK(s.bandwidth == widest);
    CHECK(s.unmatched_entries == unmatched);
    if (first_asymmetry < 0) first_asymmetry = s.asymmetry;
    CHECK(s.asymmetry == first_asymmetry);
  }
}

TEST_CASE("cache lines of x by hand") {
  // Lines of two words: columns 0 1 | 2 3 | 4 5. Blocks of two rows.
  const CsrMatrix<double> matrix = compress({{{0, 1}, {1, 1}},            // line 0
                                             {{1, 1}, {5, 1}},            // lines 0, 2: two in the block
                                             {{2, 1}},                    // line 1
                                             {{3, 1}},                    // line 1: one in the block
                                             {{0, 1}, {2, 1}, {4, 1}}});  // three in a block of one row
  CHECK(cached(matrix, 2, 8, 16) == (2 + 1 + 3) * 16);
  CHECK(cached(matrix, 1, 8, 16) == (1 + 2 + 1 + 1 + 3) * 16);
  CHECK(cached(matrix, 100, 8, 16) == 3 * 16);
  CHECK(cached(matrix, 2, 8, 8) == (3 + 2 + 3) * 8);  // a word per line: distinct columns
  CHECK(cached(matrix, 2, 4, 128) == 3 * 128);        // one line for all: once a block
}

TEST_CASE("cache lines of random matrices, on any number of threads") {
  const Rows rows = random_rows(3001, 2);
  const CsrMatrix<double> matrix = compress(rows);
  std::int64_t lines = 0;
  for (std::int32_t block = 0; block < 3001; block += 128) {
    std::set<std::int32_t> touched;
    for (std::int32_t i = block; i < std::min(3001, block + 128); ++i)
      for (const auto& [column, value] : rows[i]) touched.insert(column / 16);
    lines += static_cast<std::int64_t>(touched.size());
  }
  for (const int count : {1, 2, 5}) {
    const Threads threads(count);
    CHECK(cached(matrix, 128, 8, 128) == lines * 128);
  }
}
