// Every stored format compared with a product in long double, for many row structures; on a GPU the formats for it,
// with all variants of their options.

#include <doctest/doctest.h>
#include <algorithm>

#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "operators/stored/assembled/narrow_columns.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/rounding.hpp"
#include "tests/stored_formats.hpp"
#include "tests/threads.hpp"

namespace {

using namespace femcg::operators;
using namespace femcg::tests;
namespace tests = femcg::tests;

/// Formats with 16-bit columns on a GPU where these suffice, in all variants.
std::vector<Format> with_narrow_columns() {
  std::vector<Format> all{
      {"csr", {}}, {"csr", {{"values", "single"}}}, {"sell", {}}, {"sell", {{"values", "single"}}}, {"pjds", {}}};
  for (const char* index : {"auto", "16", "32"}) {  // also on the processor
    all.push_back({"csr-grouped", {{"index", index}}});
    all.push_back({"csr-grouped", {{"index", index}, {"values", "single"}}});
  }
  if (tests::device() == Device::cuda)
    for (const char* index : {"16", "32"}) {
      for (const char* name : {"csr", "sell", "pjds"}) all.push_back({name, {{"index", index}}});
      for (const char* name : {"csr", "sell"}) all.push_back({name, {{"index", index}, {"values", "single"}}});
    }
  return all;
}

/// Formats with rows streamed from the host with each product.
std::vector<Format> streamed() {
  std::vector<Format> all;
  for (const char* name : {"csr", "sell", "ellpack", "ellpack-r", "ellr-t", "jad", "hyb", "csr-aligned", "csr-grouped"})
    all.push_back({name, {{"resident", "streamed"}}});
  for (const char* name : {"csr", "sell", "csr-grouped"}) {
    all.push_back({name, {{"resident", "streamed"}, {"index", "32"}}});
    all.push_back({name, {{"resident", "streamed"}, {"values", "single"}}});
  }
  all.push_back({"sell", {{"resident", "streamed"}, {"sigma", "all"}}});
  return all;
}

/// Formats only for a GPU: divisions of work among threads, and libraries.
std::vector<Format> of_gpu() {
  std::vector<Format> all{{"csr", {{"rule", "2012"}}}, {"csr", {{"rule", "2012"}, {"values", "single"}}}};
  struct Launch {
    const char *coop, *repeat, *block_size;
  };
  for (const Launch& launch : {Launch{"1", "1", "32"}, Launch{"2", "3", "96"}, Launch{"4", "5", "128"},
                               Launch{"8", "7", "416"}, Launch{"16", "9", "1024"}, Launch{"32", "11", "64"}})
    all.push_back({"csr", {{"coop", launch.coop}, {"repeat", launch.repeat}, {"block_size", launch.block_size}}});
  all.push_back({"csr", {{"columns", "shared"}}});
  all.push_back({"csr", {{"columns", "shared"}, {"values", "single"}}});
  for (const char* block_size : {"32", "96", "1024"})
    all.push_back({"ellr-t", {{"T", "4"}, {"block_size", block_size}}});
  for (const char* algorithm : {"default", "1", "2"}) all.push_back({"cusparse-csr", {{"algorithm", algorithm}}});
  for (const char* height : {"auto", "2", "4", "8", "16", "32", "64", "128"})
    for (const char* sigma : {"auto", "1", "128", "all"})
      all.push_back({"cusparse-sell", {{"C", height}, {"sigma", sigma}}});
  for (const char* name : {"cusparse-csr", "cusparse-sell"}) {
    all.push_back({name, {{"index", "64"}}});
    all.push_back({name, {{"vectors", "femcg"}}});
  }
  return all;
}

std::vector<Format> formats() {
  std::vector<Format> all = with_narrow_columns();
  for (const char* name : {"ellpack", "ellpack-r", "eigen", "csr-aligned", "jad", "ellr-t", "hyb", "csr-bitmask"})
    all.push_back({name, {}});
  all.push_back({"eigen", {{"index", "64"}}});
  for (const char* threads : {"1", "2", "4", "8", "16", "32"}) all.push_back({"ellr-t", {{"T", threads}}});
  for (const char* width : {"0", "1", "5", "100000"}) all.push_back({"hyb", {{"width", width}}});
  for (const char* chunk_rows : {"4", "8", "16", "32", "64", "128"})
    for (const char* sigma : {"1", "128", "all"}) all.push_back({"sell", {{"C", chunk_rows}, {"sigma", sigma}}});
  if (tests::device() == Device::cuda)
    for (const auto& more : {of_gpu(), streamed()}) all.insert(all.end(), more.begin(), more.end());
  std::erase_if(all, [](const Format& format) { return !tests::runs_here(*find_operator(format.name)); });
  return all;
}

/// True if there is anything to check.
template <class T>
bool suits(const Format& format, const CsrMatrix<T>& matrix) {
  constexpr std::int32_t narrow_columns = 65536;
  // In single precision the values are single anyway.
  if (std::is_same_v<T, float> && format.has("values", "single")) return false;
  // Wider matrices have their own test.
  if (format.has("index", "16") && matrix.rows > narrow_columns) return false;
  // cuSPARSE does not define the result for a matrix without entries.
  return !format.name.starts_with("cusparse") || matrix.rows == 0 || matrix.nonzeros() > 0;
}

/// The matrix, rounded if the format rounds it.
template <class T>
SharedMatrix<T> as_stored(const Format& format, const SharedMatrix<T>& matrix) {
  if (!format.has("values", "single")) return matrix;
  auto rounded = std::make_shared<CsrMatrix<T>>();
  rounded->rows = matrix->rows;
  rounded->row_offsets = copied(matrix->row_offsets, Device::host);
  rounded->columns = copied(matrix->columns, Device::host);
  rounded->values = copied(matrix->values, Device::host);
  for (T& value : rounded->values.span()) value = static_cast<T>(static_cast<float>(value));
  return rounded;
}

template <class T>
Vector<T> waves(std::int64_t n) {
  Vector<T> x(n);
  for (std::int64_t i = 0; i < n; ++i) x[i] = static_cast<T>(std::sin(0.7 * static_cast<double>(i)) + 0.25);
  return x;
}

/// y = A x and x'Ax with rounding bounds (tests/rounding.hpp). y_i sums L products, the entries of its row, each of
/// which undergoes at most L operations, its multiplication and L - 1 additions (adding zeros of padding is exact):
///   |y_i - (A x)_i| <= gamma_L sum_j |a_ij| |x_j|.
/// x'Ax sums n products x_i y_i: |x|' times that bound, and gamma_n |x|'|y|. The reference is computed in long double
/// in the same way.
template <class T>
struct Expected {
  Expected(const Format& format, const CsrMatrix<T>& matrix, const Vector<T>& x) {
    const std::int32_t n = matrix.rows;
    for (std::int32_t i = 0; i < n; ++i) {
      long double exact = 0, magnitude = 0;
      for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
        const long double product = static_cast<long double>(matrix.values[k]) * x[matrix.columns[k]];
        exact += product;
        magnitude += std::abs(product);
      }
      const auto length = static_cast<long double>(matrix.row_offsets[i + 1] - matrix.row_offsets[i]);
      y.push_back(exact);
      bounds.push_back((tests::gamma<T>(length) + tests::gamma<long double>(length)) * magnitude);
      energy += x[i] * exact;
      energy_bound +=
          std::abs(x[i]) * (bounds.back() + (tests::gamma_of_energy<T>(format.name, n) + tests::gamma<long double>(n)) *
                                                std::abs(exact));
    }
  }
  /// Number of entries that exceed the bounds, or are not finite.
  int wrong(const Vector<T>& found) const {
    int count = 0;
    for (std::size_t i = 0; i < y.size(); ++i)
      count += std::abs(found[static_cast<std::int64_t>(i)] - y[i]) <= bounds[i] ? 0 : 1;
    return count;
  }

  std::vector<long double> y, bounds;
  long double energy = 0, energy_bound = 0;
};

template <class T>
void check_product(const Format& format, const Operator<T>& op, const CsrMatrix<T>& matrix) {
  REQUIRE(op.size() == matrix.rows);
  const Vector<T> x = waves<T>(matrix.rows);
  const Expected<T> expected(format, matrix, x);
  const auto [y, energy] = tests::apply(op, x);
  const Vector<T> without_energy = tests::apply_without_energy(op, x);
  CHECK(expected.wrong(y) == 0);
  CHECK(expected.wrong(without_energy) == 0);
  if (tests::has_fixed_order(format.name))
    CHECK(std::equal(y.span().begin(), y.span().end(), without_energy.span().begin()));
  CHECK(std::abs(energy - expected.energy) <= expected.energy_bound);
}

/// Checks several vectors at once, waves and their mirror image: the bounds are those of a single vector and its
/// energy. For long vectors only some numbers of them.
template <class T>
void check_columns(const Format& format, const Operator<T>& op, const CsrMatrix<T>& matrix) {
  const std::int32_t n = matrix.rows;
  const Vector<T> x = waves<T>(n);
  Vector<T> mirrored(n);
  std::reverse_copy(x.span().begin(), x.span().end(), mirrored.data());
  const Expected<T> expected[] = {Expected<T>(format, matrix, x), Expected<T>(format, matrix, mirrored)};
  for (const int count : tests::column_counts) {
    if (n > 20000 && count != 3 && count != 8) continue;
    CAPTURE(count);
    const auto written = tests::apply_to_columns(op, x, mirrored, count, true);
    for (int c = 0; c < count; ++c) {
      CAPTURE(c);
      const tests::Written<T>& found = written[static_cast<std::size_t>(c)];
      CHECK(expected[c % 2].wrong(found.y) == 0);
      CHECK(std::abs(found.energy - expected[c % 2].energy) <= expected[c % 2].energy_bound);
    }
  }
}

template <class T>
void check_diagonal(const Operator<T>& op, const CsrMatrix<T>& matrix) {
  const Vector<T> d = tests::diagonal(op);
  std::int32_t wrong = 0;
  for (std::int32_t i = 0; i < matrix.rows; ++i) {
    T expected = 0;
    for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k)
      if (matrix.columns[k] == i) expected = matrix.values[k];
    if (!(d[i] == expected)) ++wrong;
  }
  CHECK(wrong == 0);
}

template <class T>
void check_formats(const std::vector<Format>& formats, const SharedMatrix<T>& given) {
  for (const Format& format : formats) {
    if (!suits(format, *given)) continue;
    CAPTURE(format.text());
    const SharedMatrix<T> matrix = as_stored(format, given);
    const auto op = format(matrix, tests::device());
    check_product(format, *op, *matrix);
    check_columns(format, *op, *matrix);
    check_diagonal(*op, *matrix);
    const Footprint footprint = op->footprint();
    CHECK(footprint.nonzeros == matrix->nonzeros());
    CHECK(footprint.flops == 2 * matrix->nonzeros());
    CHECK(footprint.padding_ratio >= 1);
  }
}

template <class T>
void check_all_formats(const SharedMatrix<T>& matrix) {
  check_formats(formats(), matrix);
}

}  // namespace

TEST_CASE_TEMPLATE("a 4 x 4 matrix by hand", T, double, float) {
  //      2 -1  0  0     1      0
  //  A = -1  2 -1  0  x = 2  A x = 0   x'Ax = 20
  //      0 -1  2 -1     3      0
  //      0  0 -1  2     4      5
  const auto matrix =
      compress<T>({{{0, 2}, {1, -1}}, {{0, -1}, {1, 2}, {2, -1}}, {{1, -1}, {2, 2}, {3, -1}}, {{2, -1}, {3, 2}}});
  Vector<T> x(4);
  for (int i = 0; i < 4; ++i) x[i] = T(i + 1);
  for (const Format& format : formats()) {
    CAPTURE(format.text());
    const auto [y, energy] = tests::apply(*format(matrix, tests::device()), x);
    CHECK(y[0] == 0);
    CHECK(y[1] == 0);
    CHECK(y[2] == 0);
    CHECK(y[3] == 5);
    CHECK(energy == 20);
  }
}

TEST_CASE_TEMPLATE("a 5 x 5 matrix by hand: an empty row, a row and a column of one entry, and one without a diagonal",
                   T, double, float) {
  //       0  0  3  0  0     1       9
  //       0  0  0  0  0     2       0
  //  A =  1 -2  0  4  5  x = 3  A x = 38   x'Ax = 298
  //       0  0  0  0  7     4      35
  //       0  6  0  0 -1     5       7
  const auto matrix = compress<T>({{{2, 3}}, {}, {{0, 1}, {1, -2}, {3, 4}, {4, 5}}, {{4, 7}}, {{1, 6}, {4, -1}}});
  Vector<T> x(5);
  for (int i = 0; i < 5; ++i) x[i] = T(i + 1);
  for (const Format& format : formats()) {
    CAPTURE(format.text());
    const auto op = format(matrix, tests::device());
    const auto [y, energy] = tests::apply(*op, x);
    const Vector<T> d = tests::diagonal(*op);
    constexpr T product[] = {9, 0, 38, 35, 7}, diagonal[] = {0, 0, 0, 0, -1};
    for (int i = 0; i < 5; ++i) {
      CHECK(y[i] == product[i]);
      CHECK(d[i] == diagonal[i]);
    }
    CHECK(energy == 298);
  }
}

TEST_CASE_TEMPLATE("the matrices of every cell and degree, with rows of vertices, edges, faces and insides", T, double,
                   float) {
  for (const femcg::mesh::CellShape shape : femcg::mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree)
      for (const std::array<int, 3>& cells : {std::array{1, 1, 1}, std::array{3, 3, 2}}) {
        CAPTURE(femcg::mesh::name(shape));
        CAPTURE(degree);
        const SmallForm small = make_form(shape, degree, cells);
        check_all_formats<T>(
            std::make_shared<CsrMatrix<T>>(assemble<T>(small.form, assemble_element_matrices(small.form))));
      }
}

TEST_CASE_TEMPLATE("no rows, one row, no nonzeros", T, double, float) {
  check_all_formats(compress<T>({}));
  check_all_formats(compress<T>({{{0, T(3)}}}));
  check_all_formats(compress<T>({{}}));
  check_all_formats(compress<T>(Rows<T>(1000)));
  Rows<T> empty_after(20000);  // whole chunks of streamed rows are empty
  for (std::int32_t i = 0; i < 100; ++i) empty_after[static_cast<std::size_t>(i)] = {{i, T(i + 1)}};
  check_all_formats(compress<T>(empty_after));
}

TEST_CASE_TEMPLATE("rows of all lengths up to 40", T, double, float) {
  Rows<T> rows(41);
  for (std::int32_t i = 0; i < 41; ++i)
    for (std::int32_t j = 0; j < i; ++j) rows[i].emplace_back(j, T(1) / T(i + j + 1));
  check_all_formats(compress(rows));
}

TEST_CASE_TEMPLATE("random symmetric matrices, sizes that are a multiple of nothing", T, double, float) {
  struct Random {
    std::int32_t n;
    double empty;  ///< fraction of rows
  };
  unsigned seed = 1;
  for (const Random& matrix : {Random{2, 0}, Random{3, 0.3}, Random{7, 0.3}, Random{31, 0}, Random{511, 0.3},
                               Random{512, 0}, Random{513, 0.3}, Random{1025, 0}, Random{3001, 0.3}, Random{3001, 0}}) {
    CAPTURE(matrix.n);
    check_all_formats(random_symmetric<T>(matrix.n, 9, matrix.empty, seed++));
  }
}

TEST_CASE_TEMPLATE("more rows than a GPU has threads", T, double, float) {
  const std::int32_t n = tests::device() == Device::cuda ? 300007 : 9973;
  Rows<T> rows(n);
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t j = std::max(0, i - i % 13); j < std::min(n, i + i / 100 % 7); ++j)
      rows[i].emplace_back(j, T(1) / T(1 + i % 5 + j % 11));
  check_all_formats(compress(rows));
}

// sell uses any number of blocks, whose parts of x'Ax are summed group by group.
TEST_CASE_TEMPLATE("x'Ax of rows for more than a group of blocks", T, double, float) {
  const std::int32_t n = tests::device() == Device::cuda ? 1100003 : 9973;
  Rows<T> rows(n);
  for (std::int32_t i = 0; i < n; ++i) rows[i] = {{i, T(1 + i % 3)}};
  Vector<T> ones(n);
  fill(ones, T(1));
  const std::int64_t sum = std::int64_t{n} / 3 * 6 + (n % 3 > 0 ? 1 : 0) + (n % 3 > 1 ? 2 : 0);
  const auto a = Format{"sell", {}}(compress(rows), tests::device());
  CHECK(tests::apply(*a, ones).energy == static_cast<double>(sum));
}

TEST_CASE_TEMPLATE("one dense row", T, double, float) {
  check_all_formats(arrow<T>(1500));
  // Longer than csr sums at a time, in single precision too, with 16-bit columns.
  check_formats(with_narrow_columns(), arrow<T>(2500));
}

TEST_CASE_TEMPLATE("a dense row and a band that 16-bit columns do not reach", T, double, float) {
  check_formats(with_narrow_columns(), arrow<T>(70001, 33001));
}

TEST_CASE_TEMPLATE("16-bit columns reach 65536 columns and not one more" * tests::needs_gpu(), T, double, float) {
  for (const std::int32_t furthest : {65535, 65536}) {
    CAPTURE(furthest);
    const std::int32_t n = 70001;
    Rows<T> rows(n);
    for (std::int32_t i = 0; i < n; ++i) rows[i].emplace_back(i, T(3));
    rows[0].emplace_back(furthest, T(-1));
    const SharedMatrix<T> matrix = compress(rows);
    for (const char* name : {"csr", "sell", "pjds"}) {
      CAPTURE(name);
      const Format narrow{name, {{"index", "16"}}}, wide{name, {{"index", "32"}}}, automatic{name, {}};
      const auto op = automatic(matrix, Device::cuda);
      check_product(automatic, *op, *matrix);
      const auto bytes = [&](const Format& format) { return format(matrix, Device::cuda)->footprint().stored_bytes; };
      if (furthest == 65535) {
        check_product(narrow, *narrow(matrix, Device::cuda), *matrix);
        CHECK(op->footprint().stored_bytes == bytes(narrow));
        CHECK(op->footprint().stored_bytes < bytes(wide));
      } else {
        CHECK_THROWS_WITH_AS(narrow(matrix, Device::cuda), columns_do_not_fit().what(), std::invalid_argument);
        CHECK(op->footprint().stored_bytes == bytes(wide));
      }
    }
  }
}

TEST_CASE_TEMPLATE("rows that sum to zero take constants to zero", T, double, float) {
  const std::int32_t n = 1234;
  Rows<T> rows(n);
  for (std::int32_t i = 0; i < n; ++i) {
    if (i > 0) rows[i].emplace_back(i - 1, T(-1));
    rows[i].emplace_back(i, T((i > 0) + (i + 1 < n)));
    if (i + 1 < n) rows[i].emplace_back(i + 1, T(-1));
  }
  const auto matrix = compress(rows);
  Vector<T> ones(n);
  fill(ones, T(1));
  for (const Format& format : formats()) {
    CAPTURE(format.text());
    const auto [y, energy] = tests::apply(*format(matrix, tests::device()), ones);
    CHECK(std::all_of(y.data(), y.data() + n, [](T value) { return value == 0; }));
    CHECK(energy == 0);
  }
}

TEST_CASE_TEMPLATE("the same to the bit on any number of threads", T, double, float) {
  for (const auto& matrix : {random_symmetric<T>(5003, 12, 0.1, 77), arrow<T>(1111)})
    for (const Format& format : formats()) {
      if (!tests::has_fixed_order(format.name) || !suits(format, *matrix)) continue;
      CAPTURE(format.text());
      const Vector<T> x = waves<T>(matrix->rows);
      tests::Written<T> first;
      {
        const Threads one(1);
        first = tests::apply(*format(matrix, tests::device()), x);
      }
      for (const int count : {2, 3, 7}) {
        const Threads threads(count);
        const auto [y, energy] = tests::apply(*format(matrix, tests::device()), x);
        CHECK(std::memcmp(y.data(), first.y.data(), y.bytes()) == 0);
        CHECK(energy == first.energy);
      }
    }
}

TEST_CASE("hyb: as wide as a third of the rows, but 4096 at least, are long") {
  // `long_rows` of 9000 rows have 5 entries, the others 2.
  const auto padding = [](int long_rows) {
    Rows<double> rows(9000);
    for (std::int32_t i = 0; i < 9000; ++i)
      for (std::int32_t j = 0; j < (i % 9000 < long_rows ? 5 : 2); ++j) rows[i].emplace_back(j, 1.0 + i + j);
    const auto matrix = compress(rows);
    const Format hyb{"hyb", {}};
    const auto op = hyb(matrix, tests::device());
    check_product(hyb, *op, *matrix);
    return op->footprint().padding_ratio * static_cast<double>(matrix->nonzeros());
  };
  constexpr int stored_rows = 9024;  // whole slices of 32
  CHECK(padding(4096) == doctest::Approx(5 * stored_rows));
  CHECK(padding(4095) == doctest::Approx(2 * stored_rows + 3 * 4095));
}

TEST_CASE("apply checks what it is given") {
  const Format csr{"csr", {}};
  const auto op = csr(arrow<double>(5));
  Vector<double> five(5), six(6);
  fill(five, 1.0);
  fill(six, 1.0);
  CHECK_THROWS_WITH_AS(op->apply(six, five), "an operator of 5 rows cannot be applied to a vector of 6 entries",
                       std::invalid_argument);
  CHECK_THROWS_AS(op->apply(five, six), std::invalid_argument);
  CHECK_THROWS_AS(op->apply(five, five), std::invalid_argument);
}
