// What is special to element matrices: the same bits every time where that is promised, matrices that the GPU
// assembles itself, and cells with Robin terms among them.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "operators/csr_matrix.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"

using namespace femcg;
using namespace femcg::operators;
namespace tests = femcg::tests;
using femcg::tests::FormOptions;
using femcg::tests::make_form;
using femcg::tests::SmallForm;
using mesh::CellShape;

namespace {

constexpr const char* names[] = {"lma-atomic", "lma-coloured", "lma-gather"};

template <class T>
std::unique_ptr<Operator<T>> make(const char* name, const BilinearForm& form, const ElementMatrices& matrices,
                                  const Options& given = {}) {
  Ingredients<T> from;
  from.device = tests::device();
  from.form = &form;
  if (find_operator(name)->needs_on(from.device) == Needs::element_matrices) from.element_matrices = &matrices;
  return find_operator(name)->make<T>(from, given);
}

template <class T>
Vector<T> random_vector(std::int32_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Vector<T> x(n);
  for (std::int32_t i = 0; i < n; ++i) x[i] = static_cast<T>(uniform(random));
  return x;
}

template <class T>
void check_product(const SmallForm& small, const ElementMatrices& matrices, const CsrMatrix<double>& matrix,
                   const Options& given = {}) {
  const Vector<T> x = random_vector<T>(small.form.unknowns, 3);
  std::vector<double> expected(small.form.unknowns, 0), magnitude(small.form.unknowns, 0);
  double energy = 0, energy_magnitude = 0;
  for (std::int32_t i = 0; i < matrix.rows; ++i) {
    for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
      expected[i] += matrix.values[k] * x[matrix.columns[k]];
      magnitude[i] += std::abs(matrix.values[k] * x[matrix.columns[k]]);
    }
    energy += expected[i] * x[i];
    energy_magnitude += magnitude[i] * std::abs(static_cast<double>(x[i]));
  }
  const double largest = *std::max_element(magnitude.begin(), magnitude.end());
  constexpr double rounding = 300 * std::numeric_limits<T>::epsilon();  // as in test_operators
  for (const char* name : names) {
    CAPTURE(name);
    const auto a = make<T>(name, small.form, matrices, given);
    const auto [y, found] = tests::apply(*a, x);
    double worst = 0;
    bool finite = true;
    for (std::int32_t i = 0; i < small.form.unknowns; ++i) {
      finite = finite && std::isfinite(y[i]);
      worst = std::max(worst, std::abs(static_cast<double>(y[i]) - expected[i]));
    }
    CHECK(finite);
    CHECK(worst <= rounding * largest);
    CHECK(std::abs(found - energy) <= rounding * energy_magnitude);
    const Vector<T> d = tests::diagonal(*a);
    worst = 0;
    for (std::int32_t i = 0; i < matrix.rows; ++i)
      for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k)
        if (matrix.columns[k] == i) worst = std::max(worst, std::abs(d[i] / matrix.values[k] - 1));
    CHECK(worst <= rounding);
  }
}

void check_all(CellShape shape, int degree, std::array<int, 3> cells, const FormOptions& options) {
  CAPTURE(mesh::name(shape));
  CAPTURE(degree);
  const SmallForm small = make_form(shape, degree, cells, options);
  const ElementMatrices matrices = assemble_element_matrices(small.form);
  const CsrMatrix<double> matrix = assemble<double>(small.form, matrices);
  check_product<double>(small, matrices, matrix);
  check_product<float>(small, matrices, matrix);
}

}  // namespace

TEST_CASE("element matrices on distorted and on curved cells are the assembled matrix, Robin terms included") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree) {
      check_all(shape, degree, {4, 3, 2}, {});
      check_all(shape, degree, {3, 3, 2}, {.curved = true});
    }
}

TEST_CASE("with more points than a degree needs, and with few unknowns left") {
  for (const CellShape shape : mesh::all_cell_shapes) {
    check_all(shape, 2, {3, 2, 2}, {.quadrature = 7});
    check_all(shape, 1, {1, 1, 1}, {});
  }
}

TEST_CASE("identical matrices are stored once on a GPU, Robin cells and distorted ones apart") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree) {
      CAPTURE(mesh::name(shape));
      CAPTURE(degree);
      for (const FormOptions& options : {FormOptions{.varying = false, .distort = 0}, FormOptions{.varying = false}}) {
        const SmallForm small = make_form(shape, degree, {6, 5, 3}, options);
        const ElementMatrices matrices = assemble_element_matrices(small.form);
        const CsrMatrix<double> matrix = assemble<double>(small.form, matrices);
        if (tests::device() == Device::host) {
          CHECK_THROWS_WITH(make<double>("lma-gather", small.form, matrices, {{"dedup", "on"}}),
                            doctest::Contains("is for the GPU"));
          continue;
        }
        check_product<double>(small, matrices, matrix, {{"dedup", "on"}});
        check_product<float>(small, matrices, matrix, {{"dedup", "on"}});
      }
    }
}

TEST_CASE("dedup chooses by how many matrices are distinct") {
  if (tests::device() == Device::host) return;
  const FormOptions regular{.robin = false, .varying = false, .distort = 0};
  const auto bytes = [](const SmallForm& small, const char* dedup) {
    const ElementMatrices matrices{small.form.dofs_per_cell(), {}};
    return make<double>("lma-gather", small.form, matrices, {{"dedup", dedup}})->footprint().stored_bytes;
  };
  const SmallForm same = make_form(CellShape::quadrilateral, 3, {30, 30, 1}, regular);
  CHECK(bytes(same, "auto") == bytes(same, "on"));
  CHECK(bytes(same, "auto") < bytes(same, "off") / 2);
  const SmallForm distorted = make_form(CellShape::quadrilateral, 3, {30, 30, 1}, {.robin = false, .varying = false});
  CHECK(bytes(distorted, "auto") == bytes(distorted, "off"));
  const SmallForm varying = make_form(CellShape::quadrilateral, 3, {30, 30, 1}, {.robin = false, .distort = 0});
  CHECK(bytes(varying, "auto") == bytes(varying, "off"));
  CHECK_THROWS_WITH(bytes(varying, "on"), doctest::Contains("constant in every cell"));
}

TEST_CASE_TEMPLATE("coloured and gathered sums are the same to the bit every time", T, double, float) {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (const int degree : {1, 2, 4}) {
      const bool flat = mesh::dimension(shape) == 2;
      const int cells = flat ? 40 / degree : 8 / degree;
      const SmallForm small = make_form(shape, degree, {cells, cells, flat ? 1 : cells});
      const ElementMatrices matrices = assemble_element_matrices(small.form);
      const Vector<T> x = random_vector<T>(small.form.unknowns, 7);
      for (const char* name : {"lma-coloured", "lma-gather"}) {
        CAPTURE(name);
        const auto a = make<T>(name, small.form, matrices);
        const auto first = tests::apply(*a, x);
        int different = 0;
        for (int run = 0; run < 20; ++run) {
          const auto again = tests::apply(*a, x);
          different += !std::equal(first.y.span().begin(), first.y.span().end(), again.y.span().begin());
          different += first.energy != again.energy;
        }
        CHECK(different == 0);
      }
    }
}
