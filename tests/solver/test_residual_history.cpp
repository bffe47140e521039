// Residuals of the first iterations with every operator, recurrence and loop, compared with the same recurrence in long
// double on the assembled matrix, within bounds of rounding errors. Where the order of sums is fixed, a loop gives the
// same bits every time.

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "operators/persistent/persistent_cg.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "tests/cg_model.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/problems.hpp"

using namespace femcg;
using namespace femcg::operators;

namespace {

/// Residuals of conjugate gradients in long double and bounds on the rounding errors of a loop. Iterations end where a
/// bound exceeds a tenth of its residual, since the neglected terms grow with the square of the bound.
struct Allowed {
  static constexpr int most_iterations = 30;  // more than one batch on a GPU

  Allowed(tests::CgModel model, solver::CgMethod method) {
    switch (method) {
      case solver::CgMethod::classic:
        model.classic(most_iterations);
        break;
      case solver::CgMethod::pipelined:
        model.pipelined(most_iterations);
        break;
      default:
        model.single_reduction(most_iterations);
    }
    for (int k = 0; k <= most_iterations; ++k) {
      const long double residual = model.residual(k), bound = model.rounding_of_residual(k);
      if (bound > 0.1L * residual) break;
      residuals.push_back(residual);
      bounds.push_back(bound);
    }
    true_residual = model.true_residual(iterations());
    true_bound = model.rounding_of_true_residual(iterations());
  }
  int iterations() const { return static_cast<int>(residuals.size()) - 1; }

  std::vector<long double> residuals, bounds;
  long double true_residual = 0, true_bound = 0;
};

/// Allowed residuals by kind of operator: assembled matrix, vendor libraries that sum in working precision, cells.
template <class T>
struct AllowedOperators {
  AllowedOperators(const BilinearForm& form, const CsrMatrix<double>& a, const std::vector<double>& b, bool jacobi,
                   solver::CgMethod method)
      : of_matrix(tests::CgModel(a, nullptr, b, jacobi, precision(tests::gamma<double>(a.rows))), method),
        of_libraries(tests::CgModel(a, nullptr, b, jacobi, precision(tests::gamma<T>(a.rows))), method),
        of_cells(tests::CgModel(a, &form, b, jacobi, precision(tests::gamma<double>(a.rows))), method) {}
  static tests::CgPrecision precision(long double of_sums) { return {tests::unit_roundoff<T>, of_sums}; }

  const Allowed& operator[](const OperatorDescription& row) const {
    if (row.needs != Needs::matrix) return of_cells;
    return tests::adds_in_working_precision(row.name) ? of_libraries : of_matrix;
  }

  Allowed of_matrix, of_libraries, of_cells;
};

/// Residuals and solution of a loop.
struct Run {
  std::vector<double> history, x;
  bool operator==(const Run&) const = default;
};

/// Runs `most_iterations` iterations from x = 0.
template <class T>
Run run(const Operator<T>& a, const std::vector<double>& b, bool jacobi, solver::CgMethod method, solver::CgLoop loop,
        int most_iterations, int check_every = 0) {
  Vector<T> on_host(static_cast<std::int64_t>(b.size()));
  for (std::size_t i = 0; i < b.size(); ++i) on_host[static_cast<std::int64_t>(i)] = static_cast<T>(b[i]);
  const Vector<T> load = copied(on_host, a.device());
  const auto preconditioner = solver::make_preconditioner<T>(jacobi ? "jacobi" : "none", a);
  solver::CgOptions<T> options;
  options.tolerance = 1e-30;
  options.max_iterations = most_iterations;
  options.check_every = check_every;
  options.preconditioner = preconditioner.get();
  options.method = method;
  options.loop = loop;
  Run made;
  for (const solver::Iteration& iteration : conjugate_gradients(a, load, made.x, options).history)
    made.history.push_back(iteration.relative_residual);
  return made;
}

/// |b - A x| / |b|, computed in long double.
long double true_residual(const CsrMatrix<double>& a, const std::vector<double>& b, const std::vector<double>& x) {
  long double rr = 0, bb = 0;
  for (std::int32_t i = 0; i < a.rows; ++i) {
    long double r = b[i];
    for (std::int64_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k)
      r -= static_cast<long double>(a.values[k]) * x[a.columns[k]];
    rr += r * r;
    bb += static_cast<long double>(b[i]) * b[i];
  }
  return std::sqrt(rr / bb);
}

/// Checks every residual of the loop, and the true residual at the end.
template <class T>
void check(const Operator<T>& a, const CsrMatrix<double>& matrix, const std::vector<double>& b, bool jacobi,
           solver::CgMethod method, solver::CgLoop loop, const Allowed& allowed) {
  for (const int check_every : {0, 7}) {
    const Run made = run(a, b, jacobi, method, loop, allowed.iterations(), check_every);
    REQUIRE(made.history.size() == allowed.residuals.size());
    for (std::size_t k = 0; k < made.history.size(); ++k) {
      CAPTURE(k);
      CHECK(std::abs(made.history[k] - allowed.residuals[k]) <= allowed.bounds[k]);
    }
    CHECK(std::abs(true_residual(matrix, b, made.x) - allowed.true_residual) <= allowed.true_bound);
  }
}

/// Multiples of 1/8, exact in any precision.
std::vector<double> load_of(std::int32_t unknowns) {
  std::vector<double> b(static_cast<std::size_t>(unknowns));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::round(8 * (1 + std::sin(static_cast<double>(i)))) / 8;
  return b;
}

}  // namespace

TEST_CASE_TEMPLATE("residuals are those of conjugate gradients in long double, as far and as long as rounding allows",
                   T, double, float) {
  struct Problem {
    mesh::CellShape shape;
    int degree;
    std::array<int, 3> cells;
  };
  for (const Problem& problem :
       {Problem{mesh::CellShape::quadrilateral, 2, {23, 19, 0}}, Problem{mesh::CellShape::tetrahedron, 1, {9, 8, 7}}}) {
    CAPTURE(mesh::name(problem.shape));
    // A spectrum without isolated extreme eigenvalues: once the iteration finds one, rounding errors grow quickly.
    const tests::SmallForm small = tests::make_form(problem.shape, problem.degree, problem.cells,
                                                    {.robin = false, .varying = false, .distort = 0});
    const tests::Assembled assembled(small.form);
    const CsrMatrix<double>& matrix = *assembled.from.matrix;
    const std::vector<double> b = load_of(matrix.rows);
    const Ingredients<T> from = tests::ingredients<T>(small.form, assembled.element_matrices);
    for (const bool jacobi : {false, true})
      for (const solver::CgMethod method :
           {solver::CgMethod::classic, solver::CgMethod::single_reduction, solver::CgMethod::pipelined}) {
        CAPTURE(jacobi);
        CAPTURE(name(method));
        const AllowedOperators<T> allowed(small.form, matrix, b, jacobi, method);
        for (const OperatorDescription& row : catalogue()) {
          if (!tests::runs_here(row)) continue;
          CAPTURE(row.name);
          const auto a = row.make<T>(from, {});
          CHECK(allowed[row].iterations() >= (sizeof(T) == 8 ? Allowed::most_iterations : 2));
          check<T>(*a, matrix, b, jacobi, method, solver::CgLoop::launched, allowed[row]);
          if (method == solver::CgMethod::single_reduction &&
              operators::persistent_cg(*a, operators::PersistentFor::possible) != nullptr)
            check<T>(*a, matrix, b, jacobi, method, solver::CgLoop::persistent, allowed[row]);
        }
      }
  }
}

TEST_CASE_TEMPLATE("two loops give the same bits wherever sums have one order", T, double, float) {
  constexpr int some = 20;  // more than one batch on a GPU
  // Distorted cells with Robin terms, several blocks and patches; the operators are made anew for the second loop.
  for (const mesh::CellShape shape : {mesh::CellShape::quadrilateral, mesh::CellShape::tetrahedron}) {
    const bool flat = mesh::dimension(shape) == 2;
    const tests::SmallForm small = tests::make_form(shape, 2, flat ? std::array{31, 29, 1} : std::array{7, 8, 6});
    const ElementMatrices element_matrices = assemble_element_matrices(small.form);
    const std::vector<double> b = load_of(small.form.unknowns);
    const Ingredients<T> from = tests::ingredients<T>(small.form, element_matrices);
    for (const OperatorDescription& row : catalogue()) {
      if (!tests::runs_here(row) || !tests::has_fixed_order(row.name)) continue;
      CAPTURE(row.name);
      CAPTURE(mesh::name(shape));
      for (const solver::CgMethod method :
           {solver::CgMethod::classic, solver::CgMethod::single_reduction, solver::CgMethod::pipelined}) {
        const auto once = [&] { return run(*row.make<T>(from, {}), b, true, method, solver::CgLoop::launched, some); };
        const Run first = once();
        CHECK(first.history.size() == some + 1);
        CHECK(first == once());
      }
    }
  }
}
