// Formats with the matrix in single precision in a loop of double precision.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "solver/krylov/cg.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/program.hpp"

using namespace femcg;
using namespace femcg::operators;
namespace tests = femcg::tests;

namespace {

template <class T>
std::shared_ptr<CsrMatrix<T>> assembled(const tests::SmallForm& small) {
  return std::make_shared<CsrMatrix<T>>(assemble<T>(small.form, assemble_element_matrices(small.form)));
}

template <class T>
std::unique_ptr<Operator<T>> make(const char* name, std::shared_ptr<const CsrMatrix<T>> matrix,
                                  const Options& options) {
  Ingredients<T> from;
  from.device = tests::device();
  from.matrix = std::move(matrix);
  return find_operator(name)->make<T>(from, options);
}

struct Format {
  const char* name;
  Options options;

  Options with_single_values() const {
    Options with = options;
    with["values"] = "single";
    return with;
  }
};

/// Formats with single-precision values, in all variants of this device.
std::vector<Format> formats() {
  if (tests::device() == Device::host) return {{"csr", {}}, {"sell", {}}};
  return {{"csr", {}},
          {"csr", {{"index", "32"}}},
          {"csr", {{"rule", "2012"}}},
          {"csr", {{"coop", "8"}, {"repeat", "3"}}},
          {"sell", {}}};
}

/// b - A x in double precision.
std::vector<double> residual(const CsrMatrix<double>& matrix, const Vector<double>& b, const std::vector<double>& x) {
  std::vector<double> r(b.span().begin(), b.span().end());
  for (std::int32_t i = 0; i < matrix.rows; ++i)
    for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k)
      r[static_cast<std::size_t>(i)] -= matrix.values[k] * x[static_cast<std::size_t>(matrix.columns[k])];
  return r;
}

}  // namespace

TEST_CASE("values that single precision holds give the product of double precision, from 4 bytes less an entry") {
  for (int degree = 1; degree <= 4; ++degree) {
    CAPTURE(degree);
    const auto matrix = assembled<double>(tests::make_form(mesh::CellShape::triangle, degree, {13, 11, 1}));
    for (double& value : matrix->values.span()) value = static_cast<double>(static_cast<float>(value));
    Vector<double> x(matrix->rows);
    for (std::int32_t i = 0; i < matrix->rows; ++i) x[i] = std::sin(i) + 1e-9;  // not representable in single precision
    for (const Format& format : formats()) {
      CAPTURE(format.name);
      const auto rounded = make<double>(format.name, matrix, format.with_single_values()),
                 whole = make<double>(format.name, matrix, format.options);
      const auto [y, energy] = tests::apply(*rounded, x);
      const auto [expected, expected_energy] = tests::apply(*whole, x);
      double worst = 0, largest = 0;
      for (std::int32_t i = 0; i < matrix->rows; ++i) {
        worst = std::max(worst, std::abs(y[i] - expected[i]));
        largest = std::max(largest, std::abs(expected[i]));
      }
      CHECK(worst <= 1e-13 * largest);
      CHECK(energy == doctest::Approx(expected_energy).epsilon(1e-12));
      const Footprint of_rounded = rounded->footprint(), of_whole = whole->footprint();
      const auto entries =
          static_cast<std::int64_t>(std::llround(of_whole.padding_ratio * static_cast<double>(of_whole.nonzeros)));
      CHECK(of_whole.stored_bytes - of_rounded.stored_bytes == 4 * entries);
      CHECK(of_whole.moved_bytes - of_rounded.moved_bytes == 4 * entries);
      CHECK(of_whole.effective_bytes - of_rounded.effective_bytes == 4 * of_whole.nonzeros);
      const Vector<double> d = tests::diagonal(*rounded), expected_d = tests::diagonal(*whole);
      for (std::int32_t i = 0; i < matrix->rows; ++i) CHECK(d[i] == doctest::Approx(expected_d[i]));
    }
  }
}

TEST_CASE("CG with rounded values reaches 1e-10 by restarts from the true residual") {
  const auto small = tests::make_form(mesh::CellShape::quadrilateral, 2, {20, 20, 1});
  const auto matrix = assembled<double>(small);
  Vector<double> load(matrix->rows);
  fill(load, 1.0);
  const Vector<double> b = copied(load, tests::device());
  for (const Format& format : formats()) {
    CAPTURE(format.name);
    const auto a = make<double>(format.name, matrix, format.with_single_values());
    solver::CgOptions<double> options;
    options.tolerance = 1e-10;
    options.true_residual = [&](const std::vector<double>& x) { return residual(*matrix, load, x); };
    std::vector<double> x;
    const solver::CgResult result = solver::conjugate_gradients(*a, b, x, options);
    CHECK(result.reason == solver::StopReason::converged);
    CHECK(result.true_relative_residual <= 1e-10);
    double rr = 0;
    for (const double entry : residual(*matrix, load, x)) rr += entry * entry;
    CHECK(std::sqrt(rr) <= 1e-10 * std::sqrt(static_cast<double>(matrix->rows)));
  }
}

TEST_CASE("in single precision the option changes nothing; what does not fit and what is no value is refused") {
  const auto small = tests::make_form(mesh::CellShape::hexahedron, 1, {4, 3, 5});
  const auto matrix = assembled<float>(small);
  Vector<float> x(matrix->rows);
  for (std::int32_t i = 0; i < matrix->rows; ++i) x[i] = static_cast<float>(i % 7) - 3;
  for (const char* name : {"csr", "sell"}) {
    const auto with = make<float>(name, matrix, {{"values", "single"}}), without = make<float>(name, matrix, {});
    CHECK(std::ranges::equal(tests::apply(*with, x).y.span(), tests::apply(*without, x).y.span()));
    CHECK(with->footprint().stored_bytes == without->footprint().stored_bytes);
    CHECK_THROWS_WITH(check_options(*find_operator(name), {{"values", "half"}}),
                      doctest::Contains("must be working or single, not 'half'"));
  }
  const auto large = assembled<double>(small);
  large->values[0] = 1e60;
  CHECK_THROWS_AS(make<double>("sell", large, {{"values", "single"}}), std::overflow_error);
}

TEST_CASE("run refines to the tolerance, compare allows for the rounding of the matrix") {
  const std::string square =
      " $cases/minimal.yaml --device cpu --quiet --set mesh.box.cells=[30,20] --set degree=3 --set equation.source=1 ";
  const tests::Result run =
      tests::shell("$femcg run" + square +
                   "--set 'solver.operator={name: sell, values: single}' --set solver.tolerance=1e-10 && "
                   "cat results/minimal/result.json");
  INFO(run.err);
  REQUIRE(run.status == 0);
  CHECK(nlohmann::json::parse(run.out)["solve"]["true_relative_residual"] <= 1e-10);
  const tests::Result compare =
      tests::shell("$femcg compare" + square +
                   "--iterations 3 --repetitions 2 --operators '[csr, {name: csr, values: "
                   "single}, {name: sell, values: single}]' && cat results/minimal/compare.json");
  INFO(compare.err);
  REQUIRE(compare.status == 0);
  const auto records = nlohmann::json::parse(compare.out);
  CHECK(records[0]["comparison"]["agreement"] < records[1]["comparison"]["agreement"]);
  CHECK(records[1]["comparison"]["agreement"] < records[1]["comparison"]["agreement_bound"]);
  CHECK(records[2]["comparison"]["status"] == "timed");
}
