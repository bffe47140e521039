// The product by which solutions are checked, compared with the slow reference and the definition. The diagonal
// computed from the form.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "operators/forms/check/form_diagonal.hpp"
#include "operators/forms/check/form_product.hpp"
#include "operators/forms/check/reference.hpp"
#include "operators/forms/element_matrices.hpp"
#include "tests/forms.hpp"
#include "tests/numbers.hpp"
#include "tests/threads.hpp"

using namespace femcg;
using namespace femcg::operators;
using femcg::tests::FormOptions;
using femcg::tests::make_form;
using femcg::tests::norm;
using femcg::tests::random_numbers;
using femcg::tests::Threads;
using mesh::CellShape;

namespace {

std::vector<double> difference(std::span<const double> of, std::span<const double> b) {
  std::vector<double> a(of.begin(), of.end());
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

/// Greatest error of diagonal_of_form relative to the greatest entry, compared with the sum of element matrices.
double greatest_error_of_diagonal(const BilinearForm& form) {
  const ElementMatrices matrices = assemble_element_matrices(form);
  std::vector<double> sums(static_cast<std::size_t>(form.unknowns), 0.0);
  for (std::int32_t cell = 0; cell < form.cells(); ++cell)
    for (int a = 0; a < form.dofs_per_cell(); ++a)
      if (const std::int32_t i = form.unknown(cell, a); i >= 0)
        sums[static_cast<std::size_t>(i)] += matrices.cell(cell)[static_cast<std::size_t>(a * (a + 3) / 2)];
  const Vector<double> diagonal = diagonal_of_form(form);
  REQUIRE(diagonal.size() == form.unknowns);
  double worst = 0;
  for (std::int32_t i = 0; i < form.unknowns; ++i) {
    const double difference = std::abs(diagonal[i] - sums[static_cast<std::size_t>(i)]);
    worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
  }
  return worst / *std::ranges::max_element(sums);
}

constexpr CellShape shapes[]{CellShape::quadrilateral, CellShape::triangle, CellShape::hexahedron,
                             CellShape::tetrahedron};

/// Boxes with an odd number of cells, so that the last lanes are incomplete.
std::array<int, 3> cells_of(CellShape shape) {
  return dimension(shape) == 2 ? std::array{5, 3, 1} : std::array{3, 3, 1};
}

}  // namespace

TEST_CASE("residual and diagonal are those of the slow references on every shape, degree and geometry") {
  struct Kind {
    const char* name;
    FormOptions options;
  };
  const Kind kinds[]{{"varying", {}},
                     {"constant", {.varying = false, .distort = 0}},
                     {"curved", {.curved = true}},
                     {"sheared", {.distort = 0, .sheared = true}},
                     {"two more points", {.quadrature = 2}}};
  for (const CellShape shape : shapes)
    for (int degree = 1; degree <= 4; ++degree)
      for (Kind kind : kinds) {
        if (kind.options.quadrature > 0) kind.options.quadrature += degree + 1;
        if (kind.options.distort > mesh::most_distortion(shape)) kind.options.distort = mesh::most_distortion(shape);
        const auto small = make_form(shape, degree, cells_of(shape), kind.options);
        INFO(mesh::name(shape), " degree ", degree, " ", kind.name);
        const std::vector<double> x = random_numbers(small.form.unknowns, 3),
                                  b = ReferenceOperator(small.form).apply(x);
        const std::vector<double> r = FormProduct(small.form).residual(x, b);
        CHECK(norm(r) <= 1e-12 * norm(b));
        // The residual is not trivially zero: for half of x it is half of b.
        std::vector<double> half = x;
        for (double& value : half) value *= 0.5;
        CHECK(norm(FormProduct(small.form).residual(half, b)) == doctest::Approx(0.5 * norm(b)).epsilon(1e-12));
        CHECK(greatest_error_of_diagonal(small.form) <= 1e-13);
      }
}

TEST_CASE("products on all dofs are the reference's, also where most of x is zero or few cells are wanted") {
  for (const CellShape shape : shapes) {
    const auto small = make_form(shape, 3, cells_of(shape), {.curved = true});
    INFO(mesh::name(shape));
    const auto dofs = static_cast<std::size_t>(small.space->dof_count());
    std::vector<double> x = random_numbers(dofs, 5);
    const ReferenceOperator reference(small.form);
    const FormProduct product(small.form);
    const mesh::Array<double> all = reference.apply_to_dofs(x);
    CHECK(norm(difference(product.apply_to_dofs(x), all)) <= 1e-12 * norm(all));

    // Only the cells with one of a few dofs.
    const auto is_one = [](std::int32_t dof) { return dof % 97 == 0; };
    std::vector<char> wanted;
    for (std::int32_t cell = 0; cell < small.space->mesh().cell_count(); ++cell)
      wanted.push_back(std::ranges::any_of(small.space->dofs(cell), is_one) ? 1 : 0);
    const mesh::Array<double> some = product.apply_to_dofs(x, wanted);
    for (std::size_t dof = 0; dof < dofs; dof += 97)
      CHECK(some[dof] == doctest::Approx(all[dof]).epsilon(1e-10).scale(norm(all)));
    std::ranges::fill(wanted, 0);
    CHECK(norm(product.apply_to_dofs(x, wanted)) == 0);

    for (std::size_t dof = 0; dof < dofs; ++dof)
      if (dof % 31 != 0) x[dof] = 0;
    const mesh::Array<double> sparse = reference.apply_to_dofs(x);
    CHECK(norm(difference(product.apply_to_dofs(x), sparse)) <= 1e-12 * norm(sparse));
  }
}

TEST_CASE("the product is the same to the bit for any number of threads") {
  const auto small = make_form(CellShape::hexahedron, 2, {9, 7, 5});
  const std::vector<double> x = random_numbers(small.form.unknowns, 7), b(small.form.unknowns, 0.0);
  std::vector<std::vector<double>> found;
  for (const int threads : {1, 2, 5}) {
    const Threads set(threads);
    found.push_back(FormProduct(small.form).residual(x, b));
  }
  CHECK(found[0] == found[1]);
  CHECK(found[0] == found[2]);
}

TEST_CASE("a diffusion that cannot be evaluated is told of") {
  auto small = make_form(CellShape::triangle, 2, {4, 4, 1});
  small.form.diffusion.evaluate = [](std::int32_t cell, std::span<const double>, std::span<double>) {
    throw std::runtime_error(fmt::format("cell {}", cell));
  };
  const std::vector<double> x = random_numbers(small.form.unknowns, 1);
  CHECK_THROWS_WITH_AS(static_cast<void>(FormProduct(small.form).residual(x, x)), "cell 0", std::runtime_error);
}
