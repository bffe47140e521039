// Full multigrid as the start of CG: its error relative to the discretisation error, and the iterations that it saves.

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "mesh/box/box.hpp"
#include "solver/fields/initial_solution.hpp"
#include "solver/krylov/batched_cg.hpp"
#include "solver/krylov/block_cg.hpp"
#include "tests/device.hpp"
#include "tests/problems.hpp"
#include "tests/systems.hpp"

using namespace femcg;
using namespace femcg::solver;
using namespace femcg::tests;
using mesh::CellShape;

namespace {

/// -div grad u = f on the unit square or cube; u = 0 on the boundary with `held_at_zero`, else the exact values.
Case waves(CellShape shape, int degree, bool held_at_zero) {
  const bool flat = mesh::dimension(shape) == 2;
  const std::string wave = held_at_zero ? "sin(pi*" : "cos(pi*";
  const std::string exact = wave + "2*x)*" + wave + "y)" + (flat ? "" : "*" + wave + "z)");
  Case made = make_case(degree, "1", (flat ? "5*pi^2*" : "6*pi^2*") + exact);
  made.problem.exact = field(exact);
  made.problem.boundary = {value_on("all", held_at_zero ? "0" : exact)};
  return made;
}

/// Cells per side of a box with about 8,000 unknowns.
int cells_across(CellShape shape, int degree) { return mesh::dimension(shape) == 2 ? 96 / degree : 20 / degree; }

template <class T>
std::unique_ptr<Preconditioner<T>> multigrid(const Operator<T>& a, const Problem& problem,
                                             const std::string& precision) {
  return make_preconditioner<T>("multigrid", a, {{"precision", precision}}, {nullptr, &problem.form()});
}

}  // namespace

TEST_CASE("full multigrid's error is within twice the discretisation's for every shape and degree") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree)
      for (const bool distorted : {false, true})  // levels of boxes; levels of aggregates
        for (const bool held_at_zero : {true, false}) {
          CAPTURE(mesh::name(shape));
          CAPTURE(degree);
          CAPTURE(distorted);
          CAPTURE(held_at_zero);
          const Case made = waves(shape, degree, held_at_zero);
          const int n = cells_across(shape, degree);
          const mesh::BoxOptions box{shape, {n, n, n}, {1, 1, 1}, distorted ? 0.15 : 0};
          const mesh::Mesh mesh = distorted ? mesh::make_box(box) : mesh::implicit_box(box);
          const mesh::FunctionSpace space(mesh, degree);
          const Problem problem(made.problem, space);
          Assembled assembled(problem);
          assembled.from.device = device();
          const auto a = operators::find_operator("csr")->make<double>(assembled.from, {});
          Vector<double> load(a->size());
          std::ranges::copy(problem.load(), load.data());
          const Vector<double> b = on_device(load);
          const auto solve = [&](const Preconditioner<double>& m, CgOptions<double> options, std::vector<double> x) {
            options.preconditioner = &m;
            const StopReason reason = conjugate_gradients(*a, b, x, options).reason;
            CHECK(reason == (options.approximates ? StopReason::max_iterations : StopReason::converged));
            return measure_errors(*made.problem.exact, problem, problem.to_dofs(x));
          };
          CgOptions<double> options;
          options.tolerance = 1e-11;
          const Errors discretisation = solve(*multigrid<double>(*a, problem, "double"), options, {});
          SolverChoice choice;
          choice.full_multigrid = true;
          const InitialUnknowns initial = initial_unknowns(choice, {}, problem);
          CHECK(initial.empty() == (held_at_zero || degree == 1));
          options.max_iterations = 0;
          options.from_x = !initial.empty();
          options.approximates = true;
          for (const std::string precision : {"double", "single"}) {
            CAPTURE(precision);
            const double error = solve(*multigrid<double>(*a, problem, precision), options,
                                       initial.empty() ? std::vector<double>() : initial.front())
                                     .h1;
            const double rounding = precision == "single" ? 1e-4 * discretisation.norm_h1 : 0;
            CHECK(error < std::max(2 * discretisation.h1, rounding));
            CHECK(error > 0.999 * discretisation.h1);  // the discretisation error is the least possible
          }
        }
}

TEST_CASE_TEMPLATE("CG goes on from full multigrid's start, for one system and several", T, double, float) {
  for (const CellShape shape : {CellShape::triangle, CellShape::hexahedron}) {
    CAPTURE(mesh::name(shape));
    const Case made = waves(shape, 2, true);
    const int n = cells_across(shape, 2);
    const mesh::Mesh mesh = mesh::implicit_box({shape, {n, n, n}, {1, 1, 1}, 0});
    const mesh::FunctionSpace space(mesh, 2);
    const Problem problem(made.problem, space);
    const operators::ElementMatrices matrices = operators::assemble_element_matrices(problem.form());
    const auto a = operators::find_operator("csr")->make<T>(ingredients<T>(problem.form(), matrices), {});
    const auto m = multigrid<T>(*a, problem, "single");
    std::vector<Vector<T>> b;
    std::vector<std::vector<double>> loads;
    for (const double factor : {1.0, -3.0, 0.0}) {
      Vector<T> load(a->size());
      for (std::int64_t i = 0; i < load.size(); ++i)
        load[i] = static_cast<T>(factor * problem.load()[static_cast<std::size_t>(i)]);
      b.push_back(on_device(load));
      loads.emplace_back(load.span().begin(), load.span().end());
    }

    constexpr double tolerance = 1e-9;
    CgOptions<T> one;
    SystemsCgOptions<T> several;
    one.tolerance = several.tolerance = tolerance;
    one.preconditioner = several.preconditioner = m.get();
    one.true_residual = [&](const std::vector<double>& of) { return problem.residual(of, loads.front()); };
    several.true_residual = [&](std::size_t c, const std::vector<double>& of) {
      return problem.residual(of, loads[c]);
    };
    std::vector<double> x, y;
    const CgResult from_zero = conjugate_gradients(*a, b.front(), x, one);
    one.approximates = several.approximates = true;
    const CgResult result = conjugate_gradients(*a, b.front(), y, one);
    const auto check = [&](const CgResult& of, const std::vector<double>& found, double factor) {
      CHECK(of.reason == StopReason::converged);
      CHECK(of.true_relative_residual <= tolerance);
      CHECK(of.iterations < from_zero.iterations);
      CHECK(of.history.front().relative_residual < 0.1);
      double most = 0;
      for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(found[i] - factor * x[i]));
      CHECK(most <= 1e3 * tolerance * std::abs(factor) * largest(x));
    };
    check(result, y, 1);
    CHECK(result.approximated < 0.1);
    CHECK(result.approximated > 1e-6);
    for (const bool block : {false, true}) {
      std::vector<std::vector<double>> found;
      const std::vector<CgResult> results = block ? block_conjugate_gradients<T>(*a, b, found, several)
                                                  : batched_conjugate_gradients<T>(*a, b, found, several);
      check(results[0], found[0], 1);
      check(results[1], found[1], -3);
      CHECK(results[2].reason == StopReason::converged);
      CHECK(largest(found[2]) == 0);
    }
  }
}

TEST_CASE("from full multigrid's start CG's estimate of the error holds, after few iterations and with a poor cycle") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (const int degree : {1, 2, 4})
      for (const char* diffusion : {"1", "exp(9*x)", "1+999*x^12"})
        for (const char* smoother : {"3", "1"}) {
          CAPTURE(mesh::name(shape));
          CAPTURE(degree);
          CAPTURE(diffusion);
          CAPTURE(smoother);
          Case made = make_case(degree, diffusion, "1+y");
          made.problem.boundary = {value_on("left", "sin(9*y)"), transfer_on("right", "1", "3")};
          const int n = cells_across(shape, degree);
          const mesh::Mesh mesh = mesh::make_box({shape, {n, n, n}, {1, 1, 1}, 0.2});
          const mesh::FunctionSpace space(mesh, degree);
          const Problem problem(made.problem, space);
          const Assembled assembled(problem);
          const auto a = operators::find_operator("csr")->make<double>(assembled.from, {});
          const auto m =
              make_preconditioner<double>("multigrid", *a, {{"smoother", smoother}}, {nullptr, &problem.form()});
          Vector<double> b(a->size());
          std::ranges::copy(problem.load(), b.data());
          const auto energy = [&](std::span<const double> x) {
            Vector<double> of(a->size()), product(a->size());
            std::ranges::copy(x, of.data());
            a->apply(of, product);
            return std::inner_product(x.begin(), x.end(), product.data(), 0.0);
          };
          CgOptions<double> options;
          options.tolerance = 1e-10;
          options.preconditioner = m.get();
          std::vector<double> exact;
          REQUIRE(conjugate_gradients(*a, b, exact, options).reason == StopReason::converged);
          options.energy = {energy, [&](std::span<const double> x, std::span<const double>) {
                              return SolutionAccuracy{energy(x), 0};
                            }};
          options.approximates = true;
          for (const double tolerance : {1e-2, 1e-4, 1e-6}) {
            CAPTURE(tolerance);
            options.tolerance = tolerance;
            std::vector<double> x;
            const CgResult result = conjugate_gradients(*a, b, x, options);
            REQUIRE(result.reason == StopReason::converged);
            std::vector<double> error(x);
            for (std::size_t i = 0; i < x.size(); ++i) error[i] -= exact[i];
            CHECK(std::sqrt(energy(error) / energy(exact)) <= tolerance);
          }
        }
}

TEST_CASE("CG begins from 0 where the preconditioner approximates nothing") {
  const SmallForm small = make_form(CellShape::quadrilateral, 2, {9, 7, 0});
  const operators::ElementMatrices matrices = assemble_element_matrices(small.form);
  const auto a = operators::find_operator("csr")->make<double>(ingredients<double>(small.form, matrices), {});
  const Vector<double> b = on_device(random_vector<double>(a->size(), 3));
  for (const char* name : {"jacobi", "chebyshev"}) {
    const auto m = make_preconditioner<double>(name, *a);
    CgOptions<double> options;
    options.preconditioner = m.get();
    std::vector<double> x, y;
    const CgResult from_zero = conjugate_gradients(*a, b, x, options);
    options.approximates = true;
    const CgResult result = conjugate_gradients(*a, b, y, options);
    CHECK(result.iterations == from_zero.iterations);
    CHECK(x == y);
    CHECK(std::isnan(result.approximated));
  }
}
