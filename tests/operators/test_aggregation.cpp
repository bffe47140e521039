// Smoothed aggregation: sparse products, strong connections, aggregates, prolongations.

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <span>
#include <vector>

#include "mesh/geometry.hpp"
#include "operators/aggregation/aggregation.hpp"
#include "operators/aggregation/sparse_product.hpp"
#include "operators/forms/element_matrices.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/threads.hpp"

using namespace femcg;
using namespace femcg::operators;
using mesh::CellShape;

namespace {

/// Matrix of a form, on the tested device.
RectangularMatrix matrix_of(const BilinearForm& form) {
  CsrMatrix<double> matrix = assemble<double>(form, assemble_element_matrices(form));
  return copied(RectangularMatrix{matrix.rows, matrix.rows, std::move(matrix.row_offsets), std::move(matrix.columns),
                                  std::move(matrix.values)},
                tests::device());
}
RectangularMatrix on_host(const RectangularMatrix& matrix) { return copied(matrix, Device::host); }
Eigen::MatrixXd dense_of(const RectangularMatrix& there) {
  const RectangularMatrix matrix = on_host(there);
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(matrix.rows, matrix.columns);
  for (std::int32_t i = 0; i < matrix.rows; ++i)
    for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
      if (k > matrix.row_offsets[i]) REQUIRE(matrix.column[k - 1] < matrix.column[k]);
      a(i, matrix.column[k]) = matrix.value[k];
    }
  return a;
}
template <class T>
bool same(const Vector<T>& a, const Vector<T>& b) {
  return std::ranges::equal(copied(a, Device::host).span(), copied(b, Device::host).span());
}
bool same(const RectangularMatrix& a, const RectangularMatrix& b) {
  return a.rows == b.rows && a.columns == b.columns && same(a.row_offsets, b.row_offsets) && same(a.column, b.column) &&
         same(a.value, b.value);
}

}  // namespace

TEST_CASE("sparse products are Eigen's") {
  const tests::SmallForm small = tests::make_form(CellShape::triangle, 2, {31, 29, 1});  // several blocks of rows
  const RectangularMatrix a = matrix_of(small.form);
  const RectangularMatrix strong = strong_connections(a, 0.25);
  const RectangularMatrix p = prolongation(a, strong, aggregate(strong), 4.0 / 9);
  const Eigen::MatrixXd dense_a = dense_of(a), dense_p = dense_of(p);
  CHECK((dense_of(transposed(p)) - dense_p.transpose()).norm() == 0);
  CHECK((dense_of(product(a, p)) - dense_a * dense_p).norm() <= 1e-13 * dense_a.norm() * dense_p.norm());
  const Eigen::MatrixXd expected = dense_p.transpose() * dense_a * dense_p;
  CHECK((dense_of(galerkin(a, p)) - expected).norm() <= 1e-13 * expected.norm() * dense_p.norm());
}

TEST_CASE("a prolongation is (I - omega D^-1 A) T of the strong connections") {
  const tests::SmallForm small = tests::make_form(CellShape::tetrahedron, 1, {7, 6, 5});
  RectangularMatrix a = matrix_of(small.form);
  for (const int level : {0, 1}) {
    CAPTURE(level);
    const RectangularMatrix strong = strong_connections(a, 0.45);
    const Eigen::MatrixXd of_strong = dense_of(strong);
    const Aggregates aggregates = aggregate(strong);
    const Vector<std::int32_t> of = copied(aggregates.of, Device::host);
    Eigen::MatrixXd t = Eigen::MatrixXd::Zero(a.rows, aggregates.count);
    for (std::int32_t i = 0; i < a.rows; ++i)
      if (of[i] >= 0) t(i, of[i]) = 1;
    CHECK(dense_of(prolongation(a, strong, aggregates, 0)) == t);
    const double omega = 0.6;
    const Eigen::VectorXd diagonal = dense_of(a).rowwise().sum() - of_strong.rowwise().sum();
    REQUIRE((diagonal.array() > 0.1 * dense_of(a).diagonal().array()).all());
    const Eigen::MatrixXd expected = (1 - omega) * t - omega * diagonal.asDiagonal().inverse() * (of_strong * t);
    RectangularMatrix p = prolongation(a, strong, aggregates, omega);
    CHECK((dense_of(p) - expected).norm() <= 1e-13 * expected.norm());
    a = galerkin(a, p);
  }
}

TEST_CASE("good conductors have no aggregate in common across a poor one") {
  for (const CellShape shape :
       {CellShape::triangle, CellShape::quadrilateral, CellShape::tetrahedron, CellShape::hexahedron}) {
    CAPTURE(mesh::name(shape));
    const int d = mesh::dimension(shape), across = d == 2 ? 26 : 14;
    tests::SmallForm small = tests::make_form(shape, 1, {across, across, d == 3 ? across : 1}, {.distort = 0});
    const auto body = [&mesh = *small.mesh, across](std::int32_t cell) {
      const double x = mesh::cell_centre(mesh, cell)[0] * across - 0.5 * across;
      return x < -1 ? 1 : x > 1 ? 2 : 0;
    };
    small.form.diffusion.evaluate = [body](std::int32_t cell, std::span<const double>, std::span<double> values) {
      std::ranges::fill(values, body(cell) > 0 ? 1e6 : 1.0);
    };
    const RectangularMatrix a = matrix_of(small.form);
    const Aggregates aggregates = aggregate(strong_connections(a, 0.45));
    const Vector<std::int32_t> of = copied(aggregates.of, Device::host);
    std::vector<int> bodies(static_cast<std::size_t>(aggregates.count), 0);  // a bit for each body
    for (std::int32_t cell = 0; cell < small.form.cells(); ++cell)
      small.form.for_unknowns(cell, [&](std::int32_t unknown) {
        if (of[unknown] >= 0) bodies[static_cast<std::size_t>(of[unknown])] |= body(cell);
      });
    CHECK(std::ranges::count(bodies, 3) == 0);
    for (const int one : {1, 2}) CHECK(std::ranges::count(bodies, one) > 10);
  }
}

TEST_CASE("aggregates cover what is connected, and are as many as apart") {
  for (const CellShape shape :
       {CellShape::triangle, CellShape::quadrilateral, CellShape::tetrahedron, CellShape::hexahedron}) {
    CAPTURE(mesh::name(shape));
    const int d = mesh::dimension(shape), across = d == 2 ? 40 : 12;
    const tests::SmallForm small =
        tests::make_form(shape, 1, {across, across, d == 3 ? across : 1}, {.constrained = false, .robin = false});
    const RectangularMatrix a = matrix_of(small.form), strong = strong_connections(a, 0.25);
    const Aggregates aggregates = aggregate(strong);
    std::vector<int> members(static_cast<std::size_t>(aggregates.count), 0);
    const Vector<std::int32_t> aggregate_of = copied(aggregates.of, Device::host);
    for (const std::int32_t of : aggregate_of.span()) {
      REQUIRE(of >= 0);
      ++members[static_cast<std::size_t>(of)];
    }
    CHECK(*std::ranges::min_element(members) >= 2);
    const double mean = static_cast<double>(a.rows) / aggregates.count;
    CHECK(mean >= (d == 2 ? 4 : 6));
    CHECK(mean <= 60);
    // Constants, which are in the kernel, are preserved.
    const Eigen::VectorXd sums = dense_of(prolongation(a, strong, aggregates, 2.0 / 3)).rowwise().sum();
    CHECK((sums.array() - 1).abs().maxCoeff() <= 1e-10);
  }
}

TEST_CASE("levels are the same to the bit on every device and for any number of threads") {
  for (const CellShape shape : {CellShape::triangle, CellShape::tetrahedron, CellShape::hexahedron}) {
    CAPTURE(mesh::name(shape));
    const int d = mesh::dimension(shape), across = d == 2 ? 60 : 13;
    const tests::SmallForm small = tests::make_form(shape, 1, {across, across, d == 3 ? across : 1});
    std::vector<RectangularMatrix> first;
    for (const int threads : {1, 2, 3, 8}) {
      const tests::Threads of(threads);
      RectangularMatrix a = matrix_of(small.form), expected = on_host(a);
      for (int level = 0; level < 3; ++level) {
        CAPTURE(level);
        const RectangularMatrix strong = strong_connections(a, 0.45),
                                expected_strong = strong_connections(expected, 0.45);
        REQUIRE(same(strong, expected_strong));
        const Aggregates aggregates = aggregate(strong), expected_aggregates = aggregate(expected_strong);
        REQUIRE(aggregates.count == expected_aggregates.count);
        REQUIRE(same(aggregates.of, expected_aggregates.of));
        const RectangularMatrix p = prolongation(a, strong, aggregates, 0.6),
                                expected_p = prolongation(expected, expected_strong, expected_aggregates, 0.6);
        REQUIRE(same(p, expected_p));
        REQUIRE(same(transposed(p), transposed(expected_p)));
        a = galerkin(a, p);
        expected = galerkin(expected, expected_p);
        REQUIRE(same(a, expected));
        if (threads == 1) first.push_back(on_host(a));
        REQUIRE(same(a, first[static_cast<std::size_t>(level)]));
      }
    }
  }
}

TEST_CASE("positive entries are weak, and no row loses all its connections") {
  // Row 0 has a positive entry; row 2 has only entries that are small relative to the diagonal.
  const double entries[4][4] = {{4, 2, -1, 0}, {2, 4, -1, 0}, {-1, -1, 900, -0.5}, {0, 0, -0.5, 1000}};
  RectangularMatrix a;
  a.rows = a.columns = 4;
  a.row_offsets = Vector<std::int64_t>(5);
  a.column = Vector<std::int32_t>(16);
  a.value = Vector<double>(16);
  for (int i = 0; i <= 4; ++i) a.row_offsets[i] = 4 * i;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      a.column[4 * i + j] = j;
      a.value[4 * i + j] = entries[i][j];
    }
  const RectangularMatrix strong = on_host(strong_connections(copied(a, tests::device()), 0.25));
  const std::vector<std::vector<std::int32_t>> expected{{2}, {2}, {0, 1, 3}, {2}};
  for (std::int32_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(std::ranges::equal(
        std::span(strong.column.data() + strong.row_offsets[i], strong.column.data() + strong.row_offsets[i + 1]),
        expected[static_cast<std::size_t>(i)]));
  }
}
