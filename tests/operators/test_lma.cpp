// Properties specific to element matrices: bitwise reproducibility where promised, assembly on the GPU, and cells with
// Robin terms; also matrix-free with diffusion that varies between cells but not within them.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "operators/forms/congruence_classes.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/products.hpp"

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

/// Matrix of a form, and its element matrices on the host.
struct Assembled {
  explicit Assembled(const BilinearForm& form)
      : element_matrices(assemble_element_matrices(form)),
        matrix(assemble<double>(form, element_matrices)),
        product(form, matrix, tests::random_numbers(matrix.rows, 3)),
        diagonal(form, matrix) {}
  ElementMatrices element_matrices;
  CsrMatrix<double> matrix;
  tests::ExpectedProduct product;
  tests::ExpectedDiagonal diagonal;
};

template <class T>
void check_operator(const char* name, const BilinearForm& form, const Assembled& assembled, const Options& given = {}) {
  CAPTURE(name);
  const OperatorDescription& row = *find_operator(name);
  const auto a = make<T>(name, form, assembled.element_matrices, given);
  const auto [y, energy] = tests::apply(*a, tests::as_vector<T>(assembled.product.x));
  CHECK(assembled.product.wrong(row, y) == 0);
  CHECK(std::abs(energy - assembled.product.energy) <= assembled.product.energy_bound<T>(row));
  CHECK(assembled.diagonal.wrong(row, tests::diagonal(*a)) == 0);
}

/// Checks an operator in both precisions.
void check_both(const char* name, const BilinearForm& form, const Assembled& assembled, const Options& given = {}) {
  check_operator<double>(name, form, assembled, given);
  check_operator<float>(name, form, assembled, given);
}

void check_all(CellShape shape, int degree, std::array<int, 3> cells, const FormOptions& options) {
  CAPTURE(mesh::name(shape));
  CAPTURE(degree);
  const SmallForm small = make_form(shape, degree, cells, options);
  const Assembled assembled(small.form);
  for (const char* name : names) check_both(name, small.form, assembled);
}

/// Assigns `kinds` different diffusions to the cells cyclically.
void set_diffusion(BilinearForm& form, int kinds) {
  const auto of_cell = [kinds](std::int32_t cell) { return 1 + 2.0 * (cell % kinds); };
  form.diffusion.evaluate = [of_cell](std::int32_t cell, std::span<const double>, std::span<double> values) {
    std::fill(values.begin(), values.end(), of_cell(cell));
  };
  form.diffusion.constant = [of_cell](std::int32_t cell) { return std::optional(of_cell(cell)); };
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

TEST_CASE("identical matrices are stored once on a GPU, Robin cells and distorted ones apart" * tests::needs_gpu()) {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree) {
      CAPTURE(mesh::name(shape));
      CAPTURE(degree);
      for (const FormOptions& options : {FormOptions{.varying = false, .distort = 0}, FormOptions{.varying = false}}) {
        const SmallForm small = make_form(shape, degree, {6, 5, 3}, options);
        const Assembled assembled(small.form);
        for (const char* name : names) check_both(name, small.form, assembled, {{"dedup", "on"}});
      }
    }
}

TEST_CASE("the host does not store identical matrices once, and says so" * tests::needs_host()) {
  const SmallForm small = make_form(CellShape::triangle, 1, {2, 2, 1}, {.varying = false, .distort = 0});
  const Assembled assembled(small.form);
  for (const char* name : names)
    CHECK_THROWS_WITH(make<double>(name, small.form, assembled.element_matrices, {{"dedup", "on"}}),
                      doctest::Contains("is for the GPU"));
}

TEST_CASE("diffusion that is constant in each cell and differs between them: affine, straight and curved cells") {
  for (const CellShape shape : mesh::all_cell_shapes) {
    const auto cells = mesh::dimension(shape) == 2 ? std::array{8, 7, 1} : std::array{5, 4, 2};
    for (int degree = 1; degree <= 4; ++degree)
      for (const FormOptions& options : {FormOptions{.distort = 0}, FormOptions{}, FormOptions{.curved = true}}) {
        CAPTURE(mesh::name(shape));
        CAPTURE(degree);
        CAPTURE(options.distort);
        CAPTURE(options.curved);
        SmallForm small = make_form(shape, degree, cells, options);
        set_diffusion(small.form, 3);
        const Assembled assembled(small.form);
        for (const char* name : names) check_both(name, small.form, assembled);
        check_both("matrix-free", small.form, assembled);
        if (tests::device() == Device::host) continue;
        check_both("lma-gather", small.form, assembled, {{"dedup", "on"}});
        if (options.curved) continue;
        // On straight cells it computes the factors itself, except for hexahedra of degree 1.
        for (const char* geometry : {"stored", "vertices"})
          check_both("matrix-free", small.form, assembled, {{"geometry", geometry}});
      }
  }
}

TEST_CASE("dedup chooses by how many matrices are distinct" * tests::needs_gpu()) {
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
  SmallForm of_three = make_form(CellShape::quadrilateral, 3, {30, 30, 1}, regular);
  set_diffusion(of_three.form, 3);
  CHECK(bytes(of_three, "auto") == bytes(of_three, "on"));
  CHECK(bytes(of_three, "auto") > bytes(same, "auto"));
  CHECK(bytes(of_three, "auto") < bytes(of_three, "off") / 2);
  SmallForm all_different = make_form(CellShape::quadrilateral, 3, {30, 30, 1}, regular);
  set_diffusion(all_different.form, 900);
  CHECK(bytes(all_different, "auto") == bytes(all_different, "off"));
  const SmallForm varying = make_form(CellShape::quadrilateral, 3, {30, 30, 1}, {.robin = false, .distort = 0});
  CHECK(bytes(varying, "auto") == bytes(varying, "off"));
  CHECK_THROWS_WITH(bytes(varying, "on"), doctest::Contains("constant in every cell"));
}

TEST_CASE("kinds of identical cells are found where there are few enough, and refused where a sample tells that not") {
  const SmallForm small = make_form(CellShape::hexahedron, 1, {32, 32, 32}, {.distort = 0});
  const std::int32_t cells = small.form.cells();
  for (const std::int32_t kinds : {1, 7, 500, 1000}) {
    CAPTURE(kinds);
    std::vector<double> diffusion;
    for (std::int32_t cell = 0; cell < cells; ++cell) diffusion.push_back(1 + cell * std::int64_t{7919} % kinds);
    for (const std::int64_t most : {1000, 4096}) {
      const auto found = find_congruence_classes(small.form, diffusion, most);
      REQUIRE(found.has_value());
      CHECK(std::ssize(found->representatives) == kinds);
      bool right = true;
      for (std::int32_t cell = 0; cell < cells; ++cell)
        right = right && diffusion[found->representatives[found->class_of_cell[cell]]] == diffusion[cell];
      CHECK(right);
    }
    CHECK_FALSE(find_congruence_classes(small.form, diffusion, kinds - 1).has_value());
    CHECK_FALSE(find_congruence_classes(small.form, diffusion, kinds / 2).has_value());
  }
  // Few cells of a sample are congruent, but the number of classes is within the limit.
  for (const std::int32_t kinds : {4096, 8192, 16384, 30000}) {
    CAPTURE(kinds);
    std::vector<double> diffusion;
    for (std::int32_t cell = 0; cell < cells; ++cell) diffusion.push_back(1 + cell % kinds);
    const auto found = find_congruence_classes(small.form, diffusion, kinds);
    REQUIRE(found.has_value());
    CHECK(std::ssize(found->representatives) == kinds);
    CHECK_FALSE(find_congruence_classes(small.form, diffusion, kinds / 4).has_value());
  }
}

TEST_CASE("a box has the kinds of cells that comparing them finds") {
  const std::vector<double> one{1.5};
  for (const CellShape shape : mesh::all_cell_shapes) {
    SmallForm small = make_form(shape, 1, {5, 4, 3}, {.distort = 0});
    REQUIRE(small.mesh->is_uniform_box());
    const auto known = find_congruence_classes(small.form, one, 8);
    const bool few = find_congruence_classes(small.form, one, 5).has_value();
    small.mesh->list_nodes();
    const auto found = find_congruence_classes(small.form, one, 8);
    REQUIRE(known.has_value());
    REQUIRE(found.has_value());
    CHECK(known->representatives == found->representatives);
    CHECK(known->class_of_cell == found->class_of_cell);
    CHECK(few == (shape != CellShape::tetrahedron));
  }
}

TEST_CASE_TEMPLATE("coloured and gathered sums are the same to the bit every time", T, double, float) {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree) {
      const bool flat = mesh::dimension(shape) == 2;
      const int cells = flat ? 40 / degree : 8 / degree;
      const SmallForm small = make_form(shape, degree, {cells, cells, flat ? 1 : cells});
      const ElementMatrices matrices = assemble_element_matrices(small.form);
      const Vector<T> x = tests::as_vector<T>(tests::random_numbers(small.form.unknowns, 7));
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
