// Orders that reduce the bandwidth, and reordered matrices.

#include <doctest/doctest.h>

#include <Eigen/Sparse>
#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include "mesh/dofs/ordering.hpp"
#include "operators/stored/io/reorder.hpp"

namespace {

using namespace femcg::operators;

using Triplets = std::vector<Eigen::Triplet<double>>;
using Permutation = std::vector<std::int32_t>;

CsrMatrix<double> compress(std::int32_t n, const Triplets& triplets) {
  Eigen::SparseMatrix<double, Eigen::RowMajor, std::int32_t> from(n, n);
  from.setFromTriplets(triplets.begin(), triplets.end());
  CsrMatrix<double> matrix;
  matrix.rows = n;
  matrix.row_offsets = Vector<std::int64_t>(n + std::int64_t{1});
  std::copy_n(from.outerIndexPtr(), n + 1, matrix.row_offsets.data());
  matrix.columns = Vector<std::int32_t>(from.nonZeros());
  matrix.values = Vector<double>(from.nonZeros());
  std::copy_n(from.innerIndexPtr(), from.nonZeros(), matrix.columns.data());
  std::copy_n(from.valuePtr(), from.nonZeros(), matrix.values.data());
  return matrix;
}

Eigen::MatrixXd dense(const CsrMatrix<double>& matrix) {
  Eigen::MatrixXd full = Eigen::MatrixXd::Zero(matrix.rows, matrix.rows);
  for (std::int32_t i = 0; i < matrix.rows; ++i)
    for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
      CHECK((k == matrix.row_offsets[i] || matrix.columns[k] > matrix.columns[k - 1]));
      full(i, matrix.columns[k]) = matrix.values[k];
    }
  return full;
}

/// Adds the five-point matrix of a grid whose points are numbered from `first` on.
void add_grid(std::int32_t width, std::int32_t height, std::int32_t first, Triplets& to) {
  for (std::int32_t j = 0; j < height; ++j)
    for (std::int32_t i = 0; i < width; ++i) {
      const std::int32_t point = first + j * width + i;
      to.emplace_back(point, point, 4.0);
      for (const std::int32_t other : {i + 1 < width ? point + 1 : -1, j + 1 < height ? point + width : -1})
        if (other >= 0) {
          to.emplace_back(point, other, -1.0);
          to.emplace_back(other, point, -1.0);
        }
    }
}

Permutation shuffled(std::int32_t n, unsigned seed) {
  Permutation permutation(n);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::shuffle(permutation.begin(), permutation.end(), std::mt19937(seed));
  return permutation;
}

std::int32_t bandwidth(const CsrMatrix<double>& matrix) {
  return femcg::mesh::bandwidth(matrix.row_offsets.span(), matrix.columns.span());
}

bool is_bijection(Permutation permutation) {
  std::sort(permutation.begin(), permutation.end());
  for (std::size_t i = 0; i < permutation.size(); ++i)
    if (permutation[i] != static_cast<std::int32_t>(i)) return false;
  return true;
}

}  // namespace

TEST_CASE("a shuffled grid comes back to a band of its width") {
  Triplets triplets;
  add_grid(20, 90, 0, triplets);
  for (const unsigned seed : {1U, 2U, 3U}) {
    const CsrMatrix<double> matrix = permute(compress(1800, triplets), shuffled(1800, seed));
    CHECK(bandwidth(matrix) > 1000);
    const Permutation order = reverse_cuthill_mckee(matrix);
    CHECK(is_bijection(order));
    CHECK(bandwidth(permute(matrix, order)) <= 21);
    CHECK(reverse_cuthill_mckee(matrix) == order);
  }
}

TEST_CASE("several components, isolated rows and rows without entries") {
  Triplets triplets;
  add_grid(5, 40, 0, triplets);
  add_grid(3, 30, 200, triplets);
  for (std::int32_t i = 290; i < 300; ++i) triplets.emplace_back(i, i, 1.0);  // 300 to 309 are empty
  const CsrMatrix<double> matrix = permute(compress(310, triplets), shuffled(310, 7));
  const Permutation order = reverse_cuthill_mckee(matrix);
  CHECK(is_bijection(order));
  CHECK(bandwidth(permute(matrix, order)) <= 6);
}

TEST_CASE("a million isolated rows take no million searches of the whole") {
  CsrMatrix<double> matrix;
  matrix.rows = 1000000;
  matrix.row_offsets = Vector<std::int64_t>(matrix.rows + std::int64_t{1});
  fill(matrix.row_offsets, std::int64_t{0});
  CHECK(is_bijection(reverse_cuthill_mckee(matrix)));
}

TEST_CASE("a structure that is not symmetric is ordered as that of A + A'") {
  Triplets upper, both;
  std::mt19937 random(5);
  for (std::int32_t i = 0; i + 1 < 200; ++i) {
    if (random() % 2)
      upper.emplace_back(i, i + 1, 1.0);
    else
      upper.emplace_back(i + 1, i, 1.0);
    both.emplace_back(i, i + 1, 1.0);
    both.emplace_back(i + 1, i, 1.0);
  }
  const Permutation shuffle = shuffled(200, 8);
  const CsrMatrix<double> matrix = permute(compress(200, upper), shuffle);
  const Permutation order = reverse_cuthill_mckee(matrix);
  CHECK(bandwidth(permute(matrix, order)) == 1);
  CHECK(order == reverse_cuthill_mckee(permute(compress(200, both), shuffle)));

  // The search itself still numbers every row of such a pattern once.
  const Permutation one_sided = femcg::mesh::reverse_cuthill_mckee(matrix.row_offsets.span(), matrix.columns.span());
  CHECK(is_bijection(one_sided));
}

TEST_CASE("no row, one row") {
  CHECK(reverse_cuthill_mckee(CsrMatrix<double>{}).empty());
  CHECK(permute(CsrMatrix<double>{}, {}).rows == 0);
  CHECK(reverse_cuthill_mckee(compress(1, {})) == Permutation{0});
  const CsrMatrix<double> one = compress(1, {{0, 0, 3.0}});
  CHECK(reverse_cuthill_mckee(one) == Permutation{0});
  CHECK(dense(permute(one, Permutation{0}))(0, 0) == 3);
}

TEST_CASE("a permuted matrix is P A P'") {
  std::mt19937 random(9);
  for (const std::int32_t n : {3, 10, 700}) {
    Triplets triplets;
    for (std::int32_t k = 0; k < 8 * n; ++k) {
      const auto i = static_cast<std::int32_t>(random() % n), j = static_cast<std::int32_t>(random() % n);
      triplets.emplace_back(i, j, static_cast<double>(random() % 1000));
    }
    const CsrMatrix<double> matrix = compress(n, triplets);
    const Permutation permutation = shuffled(n, n);
    Eigen::PermutationMatrix<Eigen::Dynamic> p(n);  // p * e_i = e_p(i)
    for (std::int32_t i = 0; i < n; ++i) p.indices()[i] = permutation[i];
    CHECK(dense(permute(matrix, permutation)) == Eigen::MatrixXd(p * dense(matrix) * p.transpose()));
  }
}

TEST_CASE("what is no permutation is refused") {
  const CsrMatrix<double> matrix = compress(3, {{0, 0, 1.0}});
  for (const Permutation& wrong : {Permutation{0, 1}, {0, 1, 1}, {0, 1, 3}, {-1, 0, 1}, {0, 1, 2, 3}})
    CHECK_THROWS_WITH_AS(permute(matrix, wrong), "this is no permutation of the 3 rows of a matrix",
                         std::invalid_argument);
}
