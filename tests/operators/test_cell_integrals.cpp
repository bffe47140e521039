// Integrals and errors of functions on the GPU, compared with those on the host.

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "mesh/geometry.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "operators/forms/check/cell_integrals.hpp"
#include "operators/forms/element_matrices.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/numbers.hpp"

using namespace femcg;
using namespace femcg::operators;
using femcg::tests::FormOptions;
using femcg::tests::make_form;
using femcg::tests::random_numbers;
using mesh::CellShape;

namespace {

/// x^2 y + z sin(x) and its gradient.
PointProgram smooth() {
  PointProgramBuilder builder;
  const auto x = PointProgramBuilder::coordinate(0), y = PointProgramBuilder::coordinate(1),
             z = PointProgramBuilder::coordinate(2);
  const auto times = [&](auto a, auto b) { return builder.apply(PointOperation::multiply, a, b); };
  const auto plus = [&](auto a, auto b) { return builder.apply(PointOperation::add, a, b); };
  const auto square = times(x, x), sine = builder.apply(PointOperation::sine, x);
  return *builder.finish(std::array{
      plus(times(square, y), times(z, sine)),
      plus(times(builder.constant(2), times(x, y)), times(z, builder.apply(PointOperation::cosine, x))), square, sine});
}

/// 3, with zero gradient.
PointProgram constant() {
  PointProgramBuilder builder;
  const auto zero = builder.constant(0);
  return *builder.finish(std::array{builder.constant(3), zero, zero, zero});
}

}  // namespace

TEST_CASE("integrals and squares of errors of each cell on every shape, degree and geometry" * tests::needs_gpu()) {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree)
      for (FormOptions options :
           {FormOptions{.constrained = false}, FormOptions{.constrained = false, .curved = true}}) {
        options.distort = std::min(options.distort, mesh::most_distortion(shape));
        options.quadrature = degree + 2;
        auto small =
            make_form(shape, degree, dimension(shape) == 2 ? std::array{5, 7, 1} : std::array{3, 3, 2}, options);
        small.mesh->region_names = {"first", "second"};
        for (std::size_t cell = 0; cell < small.mesh->cell_regions.size(); ++cell)
          small.mesh->cell_regions[cell] = cell % 3 == 1;
        const std::vector<PointProgram> exact{smooth(), constant()};
        const std::vector<double> u = random_numbers(small.space->dof_count(), 3);
        FunctionOnGpu there(*small.space, small.form.quadrature);
        there.set(random_numbers(small.space->dof_count(), 4));
        there.set(u);
        const ErrorTables tables(*small.space, small.form.quadrature);
        const std::vector<double> found = cuda_error_squares(there, tables, exact),
                                  integrals = cuda_integrals(there);
        REQUIRE(std::ssize(found) == 4 * small.form.cells());
        REQUIRE(std::ssize(integrals) == 2 * small.form.cells());
        const Extremes extremes = cuda_extremes(there);
        CHECK(extremes.least == *std::ranges::min_element(u));
        CHECK(extremes.greatest == *std::ranges::max_element(u));
        CellEvaluator evaluator(small.form);
        const mesh::Quadrature rule = mesh::cell_quadrature(shape, small.form.quadrature);
        const auto slopes = small.space->basis().gradients(rule.points);
        mesh::CellGeometry geometry(mesh::GeometryTables(*small.mesh, rule.points));
        const int d = small.mesh->dimension();
        for (std::int32_t cell = 0; cell < small.form.cells(); ++cell) {
          evaluator.move_to(cell);
          geometry.move_to(*small.mesh, cell);
          std::array<double, 4> expected{};
          double volume = 0, integral = 0;
          for (int q = 0; q < evaluator.points(); ++q) {
            std::array<double, 4> exact_here{};
            exact[static_cast<std::size_t>(small.mesh->cell_regions[cell])].evaluate(
                evaluator.points_in_space().subspan(3 * q, 3), exact_here);
            double value = 0, inverse[9];
            geometry.inverse(q, inverse);
            std::array<double, 3> gradient{};
            for (int a = 0; a < evaluator.dofs(); ++a) {
              const double coefficient = u[small.space->dofs(cell)[a]];
              value += coefficient * evaluator.values()(q, a);
              for (int i = 0; i < d; ++i)
                for (int k = 0; k < d; ++k) gradient[i] += coefficient * slopes[k](q, a) * inverse[k * d + i];
            }
            const double measure = evaluator.measures()[q];
            volume += measure;
            integral += measure * value;
            expected[0] += measure * std::pow(value - exact_here[0], 2);
            expected[2] += measure * std::pow(exact_here[0], 2);
            for (int i = 0; i < d; ++i) {
              expected[1] += measure * std::pow(gradient[i] - exact_here[i + 1], 2);
              expected[3] += measure * std::pow(exact_here[i + 1], 2);
            }
          }
          CHECK(integrals[2 * cell] == doctest::Approx(volume).epsilon(1e-12));
          CHECK(std::abs(integrals[2 * cell + 1] - integral) < 1e-12 * volume);
          for (int k = 0; k < 4; ++k) CHECK(found[4 * cell + k] == doctest::Approx(expected[k]).epsilon(1e-12));
        }
      }
}
