// Element matrices and the reference product, the basis of all operators and comparisons, compared with their
// definition, computed independently (tests/definition.hpp).

#include <doctest/doctest.h>
#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <vector>

#include "operators/forms/check/reference.hpp"
#include "tests/definition.hpp"
#include "tests/forms.hpp"
#include "tests/products.hpp"

using namespace femcg;
using namespace femcg::operators;
namespace tests = femcg::tests;
using mesh::CellShape;
using tests::Anisotropy;
using tests::FormOptions;
using tests::Real;
using tests::RealVector;

namespace {

/// Definition with make_form's coefficients: kappa = 1 + x + 2 y^2 or 1.5, times a tensor; alpha = 1 + y.
tests::Definition definition(const tests::SmallForm& small, const FormOptions& options, int n) {
  const auto kappa = [options](const RealVector& x) {
    const Real scalar = options.varying ? 1 + x[0] + 2 * x[1] * x[1] : Real(1.5);
    tests::RealMatrix tensor = scalar * tests::RealMatrix::Identity(x.size(), x.size());
    if (options.anisotropy == tests::Anisotropy::none) return tensor;
    for (int i = 0; i < x.size(); ++i)
      for (int j = 0; j < x.size(); ++j) tensor(i, j) = scalar * Real(tests::test_tensor(options.anisotropy, i, j));
    if (options.varying) tensor(0, 0) += x[0] * x[0];
    return tensor;
  };
  return {small.form, kappa, [](const RealVector& x) { return 1 + x[1]; }, n};
}

/// K_e of the library as a full matrix.
tests::RealMatrix full(std::span<const double> packed, int n) {
  tests::RealMatrix matrix(n, n);
  for (int i = 0, entry = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j, ++entry) matrix(i, j) = matrix(j, i) = packed[entry];
  return matrix;
}

/// Number of entries of K_e that differ by more than rounding allows, and the largest relative difference of the
/// others, with respect to the largest entry.
struct Difference {
  Difference(const tests::RealMatrix& found, const tests::Definition& expected, std::int32_t cell, double operations) {
    const tests::RealMatrix k = expected.element_matrix(cell);
    const RealVector t = expected.terms(cell);
    const Real nu = operations * tests::unit_roundoff<double>;
    for (Eigen::Index i = 0; i < k.rows(); ++i)
      for (Eigen::Index j = 0; j < k.cols(); ++j) wrong += std::abs(found(i, j) - k(i, j)) <= nu * t[i] * t[j] ? 0 : 1;
    relative = (found - k).cwiseAbs().maxCoeff() / k.cwiseAbs().maxCoeff();
  }
  int wrong = 0;
  Real relative = 0;
};

/// Checks sum_c t_ci sum_j t_cj |x_j|; larger on tensor cells, since operators may use the Gauss points.
void check_terms(const std::vector<double>& found, const BilinearForm& form, const tests::Definition& definition,
                 const std::vector<double>& x) {
  std::vector<Real> expected(x.size(), 0);
  for (std::int32_t cell = 0; cell < form.cells(); ++cell) {
    const RealVector t = definition.terms(cell);
    Real sum = 0;
    for (int j = 0; j < form.dofs_per_cell(); ++j)
      if (form.unknown(cell, j) >= 0) sum += t[j] * std::abs(x[static_cast<std::size_t>(form.unknown(cell, j))]);
    for (int i = 0; i < form.dofs_per_cell(); ++i)
      if (form.unknown(cell, i) >= 0) expected[static_cast<std::size_t>(form.unknown(cell, i))] += t[i] * sum;
  }
  const bool tensor = mesh::is_tensor(form.space->mesh().shape);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Real ratio = found[i] / expected[i];
    CHECK(ratio > 1 - 1e-10L);
    CHECK(ratio < (tensor ? 100 : 1 + 1e-10L));
  }
}

/// Compares all K_e and a product with the definition with n points.
void check(CellShape shape, int degree, const FormOptions& options, int n) {
  CAPTURE(mesh::name(shape));
  CAPTURE(degree);
  CAPTURE(options.varying);
  CAPTURE(options.curved);
  CAPTURE(options.quadratic);
  const tests::SmallForm small = tests::make_form(shape, degree, {2, 1, 1}, options);
  const tests::Definition expected = definition(small, options, n);
  const ElementMatrices matrices = assemble_element_matrices(small.form);
  const std::vector<double> x = tests::random_numbers(small.form.unknowns, 5);
  const solver::ProductRounding rounding = solver::rounding_of_product(small.form, x);
  const double operations = *std::ranges::max_element(rounding.data);
  for (std::int32_t cell = 0; cell < small.form.cells(); ++cell)
    CHECK(Difference(full(matrices.cell(cell), matrices.dofs), expected, cell, operations).wrong == 0);
  const std::vector<double> y = ReferenceOperator(small.form).apply(x);
  const std::vector<Real> exact = expected.apply(x);
  int wrong = 0;
  for (std::size_t i = 0; i < y.size(); ++i)
    wrong += std::abs(y[i] - exact[i]) <= rounding.bound(i, tests::unit_roundoff<double>) ? 0 : 1;
  CHECK(wrong == 0);
  check_terms(rounding.terms, small.form, expected, x);
}

}  // namespace

TEST_CASE("of tensor cells, straight and curved: the same Gauss points") {
  for (const CellShape shape : {CellShape::quadrilateral, CellShape::hexahedron})
    for (int degree = 1; degree <= 4; ++degree)
      for (const FormOptions& options :
           {FormOptions{}, FormOptions{.varying = false, .distort = 0}, FormOptions{.quadratic = true},
            FormOptions{.curved = true}, FormOptions{.quadrature = degree + 2, .curved = true},
            FormOptions{.curved = true, .anisotropy = Anisotropy::full},
            FormOptions{.varying = false, .anisotropy = Anisotropy::full}})
        check(shape, degree, options, options.quadrature > 0 ? options.quadrature : degree + 1);
}

TEST_CASE("of bodies of revolution, straight and curved: the same Gauss points") {
  for (int degree = 1; degree <= 4; ++degree)
    for (const FormOptions& options :
         {FormOptions{.axisymmetric = true}, FormOptions{.curved = true, .axisymmetric = true}})
      check(CellShape::quadrilateral, degree, options, degree + 1);
}

TEST_CASE("of straight simplices: any rules that are exact") {
  // kappa grad phi . grad phi has degree 2 p, alpha phi phi degree 2 p + 1, and rule n is exact to degree 2 (n - 1).
  for (const CellShape shape : {CellShape::triangle, CellShape::tetrahedron})
    for (int degree = 1; degree <= 4; ++degree)
      for (const FormOptions& options :
           {FormOptions{.quadrature = degree + 2}, FormOptions{.varying = false, .quadrature = degree + 2},
            FormOptions{.quadrature = degree + 2, .quadratic = true},
            FormOptions{.quadrature = degree + 2, .anisotropy = Anisotropy::full},
            FormOptions{.varying = false, .quadrature = degree + 2, .anisotropy = Anisotropy::full}})
        check(shape, degree, options, degree + 3);
}

TEST_CASE("of curved simplices: every two points more are right to four digits more, until rounding is left") {
  for (const CellShape shape : {CellShape::triangle, CellShape::tetrahedron})
    for (int degree = 1; degree <= 4; ++degree) {
      CAPTURE(mesh::name(shape));
      CAPTURE(degree);
      Real before = 1e-2;
      for (const int more : {1, 3, 5}) {
        CAPTURE(more);
        const FormOptions options{.quadrature = degree + more, .curved = true};
        const tests::SmallForm small = tests::make_form(shape, degree, {1, 1, 1}, options);
        const ElementMatrices matrices = assemble_element_matrices(small.form);
        const solver::ProductRounding rounding =
            solver::rounding_of_product(small.form, std::vector<double>(std::size_t(small.form.unknowns), 1.0));
        const Difference difference(full(matrices.cell(0), matrices.dofs), definition(small, options, 12), 0,
                                    *std::ranges::max_element(rounding.data));
        if (more < 5) {
          CHECK(difference.relative > 1e-13);
          CHECK(difference.relative < before);
          before = 1e-4L * difference.relative;
        } else {
          CHECK(difference.wrong == 0);
        }
      }
    }
}
