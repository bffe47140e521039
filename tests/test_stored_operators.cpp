// Every stored format against a product in long double on the matrix itself, whatever the shape of its rows; on a GPU
// those formats that run there.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <omp.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "operators/csr/csr.hpp"
#include "operators/csr_aligned/csr_aligned.hpp"
#include "operators/ellpack/ellpack.hpp"
#include "operators/ellr_t/ellr_t.hpp"
#include "operators/hyb/hyb.hpp"
#include "operators/jad/jad.hpp"
#include "operators/sell/sell.hpp"
#include "operators/vendor/eigen.hpp"
#include "tests/device.hpp"

namespace {

using namespace femcg::operators;
namespace tests = femcg::tests;

template <class T>
using Row = std::vector<std::pair<std::int32_t, T>>;
template <class T>
using Rows = std::vector<Row<T>>;
template <class T>
using SharedMatrix = std::shared_ptr<const CsrMatrix<T>>;

template <class T>
SharedMatrix<T> compress(const Rows<T>& rows) {
  auto matrix = std::make_shared<CsrMatrix<T>>();
  matrix->rows = static_cast<std::int32_t>(rows.size());
  matrix->row_offsets = Vector<std::int64_t>(matrix->rows + std::int64_t{1});
  matrix->row_offsets[0] = 0;
  for (std::int32_t i = 0; i < matrix->rows; ++i)
    matrix->row_offsets[i + 1] = matrix->row_offsets[i] + static_cast<std::int64_t>(rows[i].size());
  matrix->columns = Vector<std::int32_t>(matrix->nonzeros());
  matrix->values = Vector<T>(matrix->nonzeros());
  std::int64_t k = 0;
  for (const Row<T>& row : rows)
    for (const auto& [column, value] : row) {
      matrix->columns[k] = column;
      matrix->values[k++] = value;
    }
  return matrix;
}

/// Symmetric, about `neighbours` pairs a row, each row i with probability `empty` without any entry.
template <class T>
SharedMatrix<T> random_symmetric(std::int32_t n, int neighbours, double empty, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1), chance(0, 1);
  std::uniform_int_distribution<std::int32_t> index(0, n - 1);
  std::vector<char> is_empty(n);
  for (char& flag : is_empty) flag = chance(random) < empty ? 1 : 0;
  std::vector<std::map<std::int32_t, T>> entries(n);
  for (std::int32_t i = 0; i < n; ++i) {
    if (is_empty[i]) continue;
    entries[i][i] = static_cast<T>(4 + value(random));
    for (int k = 0; k < neighbours; ++k) {
      const std::int32_t j = index(random);
      if (is_empty[j] || j == i) continue;
      entries[i][j] = entries[j][i] = static_cast<T>(value(random));
    }
  }
  Rows<T> rows(n);
  for (std::int32_t i = 0; i < n; ++i) rows[i].assign(entries[i].begin(), entries[i].end());
  return compress(rows);
}

/// The arrow matrix: a full first row and column, and the diagonal.
template <class T>
SharedMatrix<T> arrow(std::int32_t n) {
  Rows<T> rows(n);
  for (std::int32_t j = 0; j < n; ++j) rows[0].emplace_back(j, j == 0 ? T(n) : T(-1) / T(j + 1));
  for (std::int32_t i = 1; i < n; ++i) rows[i] = {{0, T(-1) / T(i + 1)}, {i, T(2)}};
  return compress(rows);
}

template <class T>
struct Format {
  std::string name;
  std::unique_ptr<Operator<T>> (*make)(const Ingredients<T>&, const Options&);
  Options options;

  std::unique_ptr<Operator<T>> operator()(const SharedMatrix<T>& matrix, Device device = Device::host) const {
    Ingredients<T> ingredients;
    ingredients.device = device;
    ingredients.matrix = matrix;
    return make(ingredients, options);
  }
};

template <class T>
std::vector<Format<T>> formats() {
  std::vector<Format<T>> all{
      {"csr", make_csr<T>, {}},     {"ellpack", make_ellpack<T>, {}}, {"ellpack-r", make_ellpack_r<T>, {}},
      {"eigen", make_eigen<T>, {}}, {"sell", make_sell<T>, {}},       {"csr-aligned", make_csr_aligned<T>, {}},
      {"pjds", make_pjds<T>, {}},   {"jad", make_jad<T>, {}},         {"ellr-t", make_ellr_t<T>, {}},
      {"hyb", make_hyb<T>, {}}};
  for (const char* threads : {"1", "2", "4", "8", "16", "32"})
    all.push_back({fmt::format("ellr-t T={}", threads), make_ellr_t<T>, {{"T", threads}}});
  for (const char* width : {"0", "1", "5", "100000"})
    all.push_back({fmt::format("hyb width={}", width), make_hyb<T>, {{"width", width}}});
  for (const char* chunk_rows : {"4", "8", "16", "32", "64", "128"})
    for (const char* sigma : {"1", "128", "all"})
      all.push_back(
          {fmt::format("sell C={} sigma={}", chunk_rows, sigma), make_sell<T>, {{"C", chunk_rows}, {"sigma", sigma}}});
  if (tests::device() == Device::cuda)
    for (const char* block_size : {"32", "96", "1024"})
      all.push_back(
          {fmt::format("ellr-t block_size={}", block_size), make_ellr_t<T>, {{"T", "4"}, {"block_size", block_size}}});
  std::erase_if(all, [](const Format<T>& format) {
    return !tests::runs_here(*find_operator(format.name.substr(0, format.name.find(' '))));
  });
  return all;
}

template <class T>
Vector<T> waves(std::int64_t n) {
  Vector<T> x(n);
  for (std::int64_t i = 0; i < n; ++i) x[i] = static_cast<T>(std::sin(0.7 * static_cast<double>(i)) + 0.25);
  return x;
}

/// |y - A x| <= c eps |A| |x| row by row, c the length of the longest chain of roundings; likewise x'Ax.
template <class T>
void check_product(const Operator<T>& op, const CsrMatrix<T>& matrix) {
  const std::int32_t n = matrix.rows;
  REQUIRE(op.size() == n);
  const Vector<T> x = waves<T>(n);
  const auto [y, energy] = tests::apply(op, x);
  const Vector<T> without_energy = tests::apply_without_energy(op, x);
  const long double eps = std::numeric_limits<T>::epsilon();
  long double exact_energy = 0, energy_bound = 0;
  std::int32_t wrong = 0;
  for (std::int32_t i = 0; i < n; ++i) {
    long double exact = 0, magnitude = 0;
    for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
      const long double product = static_cast<long double>(matrix.values[k]) * x[matrix.columns[k]];
      exact += product;
      magnitude += std::abs(product);
    }
    const auto length = static_cast<long double>(matrix.row_offsets[i + 1] - matrix.row_offsets[i]);
    const long double bound = (length + 2) * eps * magnitude;
    if (!(std::abs(y[i] - exact) <= bound) || !(y[i] == without_energy[i])) ++wrong;
    exact_energy += x[i] * exact;
    energy_bound += std::abs(x[i]) * (bound + 16 * eps * magnitude);
  }
  CHECK(wrong == 0);
  CHECK(std::abs(energy - exact_energy) <= energy_bound);
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
void check_all_formats(const SharedMatrix<T>& matrix) {
  for (const Format<T>& format : formats<T>()) {
    CAPTURE(format.name);
    const auto op = format(matrix, tests::device());
    check_product(*op, *matrix);
    check_diagonal(*op, *matrix);
    const Footprint footprint = op->footprint();
    CHECK(footprint.nonzeros == matrix->nonzeros());
    CHECK(footprint.flops == 2 * matrix->nonzeros());
    CHECK(footprint.padding_ratio >= 1);
  }
}

/// Sets the number of threads for as long as it lives.
class Threads {
 public:
  explicit Threads(int count) : before_(omp_get_max_threads()) { omp_set_num_threads(count); }
  ~Threads() { omp_set_num_threads(before_); }

 private:
  int before_;
};

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
  for (const Format<T>& format : formats<T>()) {
    CAPTURE(format.name);
    const auto [y, energy] = tests::apply(*format(matrix, tests::device()), x);
    CHECK(y[0] == 0);
    CHECK(y[1] == 0);
    CHECK(y[2] == 0);
    CHECK(y[3] == 5);
    CHECK(energy == 20);
  }
}

TEST_CASE_TEMPLATE("no rows, one row, no nonzeros", T, double, float) {
  check_all_formats(compress<T>({}));
  check_all_formats(compress<T>({{{0, T(3)}}}));
  check_all_formats(compress<T>({{}}));
  check_all_formats(compress<T>(Rows<T>(1000)));
}

TEST_CASE_TEMPLATE("rows of all lengths up to 40", T, double, float) {
  Rows<T> rows(41);
  for (std::int32_t i = 0; i < 41; ++i)
    for (std::int32_t j = 0; j < i; ++j) rows[i].emplace_back(j, T(1) / T(i + j + 1));
  check_all_formats(compress(rows));
}

TEST_CASE_TEMPLATE("random symmetric matrices, sizes that are a multiple of nothing", T, double, float) {
  unsigned seed = 1;
  for (const std::int32_t n : {2, 3, 7, 31, 511, 512, 513, 1025, 3001})
    for (const double empty : {0.0, 0.3}) {
      CAPTURE(n);
      check_all_formats(random_symmetric<T>(n, 9, empty, seed++));
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

TEST_CASE_TEMPLATE("one dense row", T, double, float) { check_all_formats(arrow<T>(1500)); }

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
  for (const Format<T>& format : formats<T>()) {
    CAPTURE(format.name);
    const auto [y, energy] = tests::apply(*format(matrix, tests::device()), ones);
    CHECK(std::all_of(y.data(), y.data() + n, [](T value) { return value == 0; }));
    CHECK(energy == 0);
  }
}

TEST_CASE_TEMPLATE("the same to the bit on any number of threads", T, double, float) {
  for (const auto& matrix : {random_symmetric<T>(5003, 12, 0.1, 77), arrow<T>(1111)})
    for (const Format<T>& format : formats<T>()) {
      CAPTURE(format.name);
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

TEST_CASE_TEMPLATE("footprints by hand", T, double, float) {
  constexpr std::int64_t word = sizeof(T);
  // Rows of 1, 2, 3, 2 entries.
  const auto matrix = compress<T>({{{0, 2}}, {{1, 2}, {2, 1}}, {{1, 1}, {2, 2}, {3, 1}}, {{2, 1}, {3, 2}}});
  const auto footprint = [&](const Format<T>& format) { return format(matrix)->footprint(); };

  const Footprint csr = footprint({"", make_csr<T>, {}});
  CHECK(csr.stored_bytes == 8 * (word + 4) + 5 * 8);
  CHECK(csr.moved_bytes == csr.stored_bytes + 2 * 4 * word);
  CHECK(csr.effective_bytes == 8 * (2 * word + 4) + 4 * (word + 4));
  CHECK(csr.padding_ratio == 1);

  // Four rows are padded to a group of eight.
  const Footprint ellpack = footprint({"", make_ellpack<T>, {}});
  CHECK(ellpack.stored_bytes == 3 * 8 * (word + 4));
  CHECK(ellpack.moved_bytes == ellpack.stored_bytes + 2 * 4 * word);
  CHECK(ellpack.padding_ratio == 3);
  const Footprint ellpack_r = footprint({"", make_ellpack_r<T>, {}});
  CHECK(ellpack_r.stored_bytes == 3 * 8 * (word + 4) + 8 * 4);
  CHECK(ellpack_r.moved_bytes == 8 * (word + 4) + 8 * 4 + 2 * 4 * word);

  const Footprint sell = footprint({"", make_sell<T>, {{"C", "4"}, {"sigma", "1"}}});
  CHECK(sell.stored_bytes == 12 * (word + 4) + 2 * 8);
  CHECK(sell.padding_ratio == 1.5);
  const Footprint sorted = footprint({"", make_sell<T>, {{"C", "4"}, {"sigma", "all"}}});
  CHECK(sorted.stored_bytes == sell.stored_bytes + 4 * 4);
}

TEST_CASE_TEMPLATE("footprints by hand: jad, csr-aligned, ellr-t, hyb", T, double, float) {
  constexpr std::int64_t word = sizeof(T), entry = word + 4;
  // Rows of 1, 2, 3, 2 entries.
  const auto matrix = compress<T>({{{0, 2}}, {{1, 2}, {2, 1}}, {{1, 1}, {2, 2}, {3, 1}}, {{2, 1}, {3, 2}}});
  const auto footprint = [&](const Format<T>& format) { return format(matrix)->footprint(); };

  // Three diagonals; a length and a place a row.
  const Footprint jad = footprint({"", make_jad<T>, {}});
  CHECK(jad.stored_bytes == 8 * entry + 3 * 8 + 4 * 8);
  CHECK(jad.moved_bytes == jad.stored_bytes + 2 * 4 * word);
  CHECK(jad.padding_ratio == 1);

  // A start and a length a row.
  const Footprint aligned = footprint({"", make_csr_aligned<T>, {}});
  CHECK(aligned.stored_bytes == 4 * 16 * entry + 4 * 8);
  CHECK(aligned.moved_bytes == 8 * entry + 4 * 8 + 2 * 4 * word);
  CHECK(aligned.padding_ratio == 8);

  // Four rows are padded to 32, the longest takes two steps, all together five.
  const Footprint ellr_t = footprint({"", make_ellr_t<T>, {{"T", "2"}}});
  CHECK(ellr_t.stored_bytes == 2 * 32 * 2 * entry + 32 * 4);
  CHECK(ellr_t.moved_bytes == 5 * 2 * entry + 32 * 4 + 2 * 4 * word);
  CHECK(ellr_t.padding_ratio == 16);

  // 32 rows of two, and one more entry with its row and its end; one slice; lengths, which the host does not read.
  const Footprint hyb = footprint({"", make_hyb<T>, {{"width", "2"}}});
  CHECK(hyb.stored_bytes == (32 * 2 + 1) * entry + 2 * 4 + 4 + 2 * 8 + 32 * 4);
  CHECK(hyb.moved_bytes == hyb.stored_bytes - 32 * 4 + 2 * 4 * word);
  CHECK(hyb.padding_ratio == 65.0 / 8);
}

TEST_CASE("hyb: as wide as a third of the rows, but 4096 at least, are long") {
  // Of 9000 rows `long_rows` have 5 entries, the others 2.
  const auto padding = [](int long_rows) {
    Rows<double> rows(9000);
    for (std::int32_t i = 0; i < 9000; ++i)
      for (std::int32_t j = 0; j < (i % 9000 < long_rows ? 5 : 2); ++j) rows[i].emplace_back(j, 1.0 + i + j);
    const auto matrix = compress(rows);
    const auto op = Format<double>{"", make_hyb<double>, {}}(matrix, tests::device());
    check_product(*op, *matrix);
    return op->footprint().padding_ratio * static_cast<double>(matrix->nonzeros());
  };
  constexpr int stored_rows = 9024;  // whole slices of 32
  CHECK(padding(4096) == doctest::Approx(5 * stored_rows));
  CHECK(padding(4095) == doctest::Approx(2 * stored_rows + 3 * 4095));
}

TEST_CASE("ellr-t keeps rows of different lengths out of one another's sectors") {
  // Rows of two lengths in turn.
  const auto moved = [](int one, int other, const Options& options) {
    Rows<double> rows(256);
    for (std::int32_t i = 0; i < 256; ++i)
      for (std::int32_t j = 0; j < (i % 2 == 0 ? one : other); ++j) rows[i].emplace_back(j, 1.0);
    return Format<double>{"", make_ellr_t<double>, options}(compress(rows))->footprint().moved_bytes;
  };
  // Sectors have 32 bytes: with 4 threads a row each has its own sectors of values, but two rows share those of
  // columns, and the short one's half is read for the long one.
  CHECK(moved(4, 64, {}) == moved(4, 64, {{"T", "8"}}));
  CHECK(moved(4, 64, {}) > moved(4, 64, {{"T", "4"}}));
  CHECK(moved(4, 64, {}) < moved(4, 64, {{"T", "16"}}));
  // Where the lengths differ less, more threads are taken for long rows only.
  CHECK(moved(24, 48, {}) == moved(24, 48, {{"T", "8"}}));
  CHECK(moved(16, 32, {}) == moved(16, 32, {{"T", "1"}}));
}

TEST_CASE("sorting takes the padding away") {
  // Every fourth row is long: sorted by length within 64, a chunk of 4 holds rows of one length.
  Rows<double> rows(256);
  for (std::int32_t i = 0; i < 256; ++i)
    for (std::int32_t j = 0; j < (i % 4 == 0 ? 20 : 5); ++j) rows[i].emplace_back(j, 1.0);
  const auto matrix = compress(rows);
  const auto padding = [&](const char* sigma) {
    return Format<double>{"", make_sell<double>, {{"C", "4"}, {"sigma", sigma}}}(matrix)->footprint().padding_ratio;
  };
  CHECK(padding("1") == doctest::Approx(80.0 / 35.0));
  CHECK(padding("64") == 1);
  CHECK(padding("all") == 1);
}

TEST_CASE("ELLPACK refuses a matrix that is nearly all padding, and names sell") {
  const auto matrix = arrow<double>(20000);
  for (const auto make : {make_ellpack<double>, make_ellpack_r<double>}) {
    const Format<double> format{"", make, {}};
    CHECK_THROWS_WITH_AS(format(matrix),
                         "ELLPACK would pad every row to 20000 entries, 4.5 GiB in all and 6666.9 times the nonzeros; "
                         "operator 'sell' pads a few rows at a time",
                         std::invalid_argument);
  }
}

TEST_CASE("options of sell: a wrong value is refused in one sentence") {
  const auto matrix = arrow<double>(10);
  const auto make = [&](const Options& options) { return Format<double>{"", make_sell<double>, options}(matrix); };
  for (const char* wrong : {"0", "3", "24", "256", "-8", "8.0", "eight", "", " 8"})
    CHECK_THROWS_WITH_AS(
        make({{"C", wrong}}),
        fmt::format("option 'C' of operator 'sell' must be auto, 4, 8, 16, 32, 64 or 128, not '{}'", wrong).c_str(),
        std::invalid_argument);
  for (const char* wrong : {"0", "-1", "any", "1e3", ""})
    CHECK_THROWS_WITH_AS(
        make({{"sigma", wrong}}),
        fmt::format("option 'sigma' of operator 'sell' must be auto, 1, a multiple of C, or all, not '{}'", wrong)
            .c_str(),
        std::invalid_argument);
  CHECK_THROWS_WITH_AS(make({{"C", "32"}, {"sigma", "48"}}),
                       "option 'sigma' of operator 'sell' must be 1, all, or a multiple of C = 32, not 48",
                       std::invalid_argument);
  for (const OptionDescription& option : sell_options()) {
    CAPTURE(option.name);
    CHECK(option.accepts(option.default_value));
  }
}

TEST_CASE("options of hyb and ellr-t: a wrong value is refused in one sentence") {
  const auto matrix = arrow<double>(10);
  for (const char* wrong : {"-1", "all", "2.5", ""})
    CHECK_THROWS_WITH_AS(
        (Format<double>{"", make_hyb<double>, {{"width", wrong}}}(matrix)),
        fmt::format("option 'width' of operator 'hyb' must be auto, or a number of entries, not '{}'", wrong).c_str(),
        std::invalid_argument);
  for (const char* wrong : {"0", "3", "64", "-8", ""})
    CHECK_THROWS_WITH_AS(
        (Format<double>{"", make_ellr_t<double>, {{"T", wrong}}}(matrix)),
        fmt::format("option 'T' of operator 'ellr-t' must be auto, 1, 2, 4, 8, 16 or 32, not '{}'", wrong).c_str(),
        std::invalid_argument);
  for (const char* wrong : {"0", "100", "2048", "auto"})
    CHECK_THROWS_AS((Format<double>{"", make_ellr_t<double>, {{"block_size", wrong}}}(matrix)), std::invalid_argument);
  CHECK_THROWS_WITH_AS((Format<double>{"", make_ellr_t<double>, {{"block_size", "128"}}}(matrix)),
                       "option 'block_size' of operator 'ellr-t' is for the GPU; on the CPU it has T only",
                       std::invalid_argument);
  for (const auto options : {hyb_options(), ellr_t_options()})
    for (const OptionDescription& option : options) {
      CAPTURE(option.name);
      CHECK(option.accepts(option.default_value));
    }
}

TEST_CASE("apply checks what it is given") {
  const Format<double> csr{"", make_csr<double>, {}};
  const auto op = csr(arrow<double>(5));
  Vector<double> five(5), six(6);
  fill(five, 1.0);
  fill(six, 1.0);
  CHECK_THROWS_WITH_AS(op->apply(six, five), "an operator of 5 rows cannot be applied to a vector of 6 entries",
                       std::invalid_argument);
  CHECK_THROWS_AS(op->apply(five, six), std::invalid_argument);
  CHECK_THROWS_AS(op->apply(five, five), std::invalid_argument);
}
