// The residuals of the first iterations with every operator, recurrence and loop, against a plain CG in long double on
// the reference operator's matrix. What separates them is rounding, which CG lets grow. And where sums have one order,
// a loop gives the same bits every time.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "operators/persistent/persistent_cg.hpp"
#include "operators/forms/reference.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/krylov/preconditioner.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/problems.hpp"

using namespace femcg;
using namespace femcg::operators;

namespace {

/// |r_k| / |b| of k = 0 ... iterations, preconditioned by the diagonal or not (Hestenes & Stiefel 1952).
std::vector<double> reference_history(const CsrMatrix<double>& a, const std::vector<double>& b, bool jacobi,
                                      int iterations) {
  const std::size_t n = b.size();
  std::vector<long double> r(b.begin(), b.end()), z(n), p(n), q(n), m(n, 1);
  for (std::int32_t i = 0; i < a.rows; ++i)
    for (std::int64_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k)
      if (jacobi && a.columns[k] == i) m[i] = 1 / static_cast<long double>(a.values[k]);
  const auto dot = [n](const auto& left, const auto& right) {
    long double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += left[i] * right[i];
    return sum;
  };
  for (std::size_t i = 0; i < n; ++i) p[i] = z[i] = m[i] * r[i];
  const long double norm = std::sqrt(dot(r, r));
  std::vector<double> history{1.0};
  for (long double rz = dot(r, z); history.size() <= static_cast<std::size_t>(iterations);) {
    for (std::int32_t i = 0; i < a.rows; ++i) {
      q[i] = 0;
      for (std::int64_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) q[i] += a.values[k] * p[a.columns[k]];
    }
    const long double alpha = rz / dot(p, q);
    for (std::size_t i = 0; i < n; ++i) r[i] -= alpha * q[i];
    for (std::size_t i = 0; i < n; ++i) z[i] = m[i] * r[i];
    const long double beta = dot(r, z) / rz;
    rz *= beta;
    for (std::size_t i = 0; i < n; ++i) p[i] = z[i] + beta * p[i];
    history.push_back(static_cast<double>(std::sqrt(dot(r, r)) / norm));
  }
  return history;
}

/// Iterations that are compared: in single precision rounding has grown too far after more.
template <class T>
constexpr int iterations = sizeof(T) == 8 ? 100 : 30;

/// How far rounding may carry a residual from the reference's, in units of |b|. One wrong sum, step or product is off
/// by orders of magnitude more.
template <class T>
constexpr double growth = 1e5 * static_cast<double>(std::numeric_limits<T>::epsilon());

/// What a loop came to.
struct Run {
  std::vector<double> history, x;
  bool operator==(const Run&) const = default;
};

/// Some iterations from x = 0.
template <class T>
Run run(const Operator<T>& a, const std::vector<double>& b, bool jacobi, solver::CgMethod method, solver::CgLoop loop,
        int most_iterations) {
  Vector<T> on_host(static_cast<std::int64_t>(b.size()));
  for (std::size_t i = 0; i < b.size(); ++i) on_host[static_cast<std::int64_t>(i)] = static_cast<T>(b[i]);
  const Vector<T> load = copied(on_host, a.device());
  const auto preconditioner = solver::make_preconditioner<T>(jacobi ? "jacobi" : "none", a);
  solver::CgOptions<T> options;
  options.tolerance = 1e-30;
  options.max_iterations = most_iterations;
  options.preconditioner = preconditioner.get();
  options.method = method;
  options.loop = loop;
  Run made;
  for (const solver::Iteration& iteration : conjugate_gradients(a, load, made.x, options).history)
    made.history.push_back(iteration.relative_residual);
  return made;
}

/// The largest |history_k - reference_k|, both relative to |b|.
template <class T>
double worst(const Operator<T>& a, const std::vector<double>& b, bool jacobi, solver::CgMethod method,
             solver::CgLoop loop, const std::vector<double>& reference) {
  const std::vector<double> history = run(a, b, jacobi, method, loop, iterations<T>).history;
  if (history.size() != reference.size()) return INFINITY;
  double largest = 0;
  for (std::size_t k = 0; k < reference.size(); ++k) largest = std::max(largest, std::abs(history[k] - reference[k]));
  return largest;
}

std::vector<double> load_of(std::int32_t unknowns) {
  std::vector<double> b(static_cast<std::size_t>(unknowns));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = 1 + std::sin(static_cast<double>(i));
  return b;
}

}  // namespace

TEST_CASE_TEMPLATE("residuals of the first iterations, 100 in double and 30 in single precision, are the reference's",
                   T, double, float) {
  struct Problem {
    mesh::CellShape shape;
    int degree;
    std::array<int, 3> cells;
  };
  for (const Problem& problem : {Problem{mesh::CellShape::quadrilateral, 2, {53, 47, 0}},
                                 Problem{mesh::CellShape::tetrahedron, 1, {13, 12, 11}}}) {
    // A spectrum without lone eigenvalues at its ends: where one is found by the iteration, rounding grows at once.
    tests::FormOptions smooth;
    smooth.robin = smooth.varying = false;
    smooth.distort = 0;
    const tests::SmallForm small = tests::make_form(problem.shape, problem.degree, problem.cells, smooth);
    const tests::Assembled assembled(small.form);
    const CsrMatrix<double>& matrix = *assembled.from.matrix;
    const std::vector<double> b = load_of(matrix.rows);
    const Ingredients<T> from = tests::ingredients<T>(small.form, assembled.element_matrices);
    for (const bool jacobi : {false, true}) {
      const std::vector<double> reference = reference_history(matrix, b, jacobi, iterations<T>);
      for (const OperatorDescription& row : catalogue()) {
        if (!tests::runs_here(row)) continue;
        const auto a = row.make<T>(from, {});
        CAPTURE(row.name);
        CAPTURE(jacobi);
        using solver::CgLoop;
        using solver::CgMethod;
        CHECK(worst<T>(*a, b, jacobi, CgMethod::classic, CgLoop::launched, reference) < growth<T>);
        CHECK(worst<T>(*a, b, jacobi, CgMethod::single_reduction, CgLoop::launched, reference) < growth<T>);
        if (operators::persistent_cg(*a) != nullptr)
          CHECK(worst<T>(*a, b, jacobi, CgMethod::single_reduction, CgLoop::resident, reference) < growth<T>);
      }
    }
  }
}

TEST_CASE_TEMPLATE("two loops give the same bits wherever sums have one order", T, double, float) {
  constexpr int some = 20;  // more than a GPU is given at once
  // Distorted cells with Robin terms, several blocks and patches of them; operators made anew for the second loop.
  for (const mesh::CellShape shape : {mesh::CellShape::quadrilateral, mesh::CellShape::tetrahedron}) {
    const bool flat = mesh::dimension(shape) == 2;
    const tests::SmallForm small = tests::make_form(shape, 2, flat ? std::array{31, 29, 1} : std::array{7, 8, 6});
    const ElementMatrices element_matrices = assemble_element_matrices(small.form);
    const std::vector<double> b = load_of(small.form.unknowns);
    const Ingredients<T> from = tests::ingredients<T>(small.form, element_matrices);
    for (const OperatorDescription& row : catalogue()) {
      // Atomic sums have no order, and cuSPARSE promises none.
      if (!tests::runs_here(row) || row.name == "lma-atomic" || row.name.starts_with("cusparse")) continue;
      CAPTURE(row.name);
      CAPTURE(mesh::name(shape));
      for (const solver::CgMethod method : {solver::CgMethod::classic, solver::CgMethod::single_reduction}) {
        const auto once = [&] { return run(*row.make<T>(from, {}), b, true, method, solver::CgLoop::launched, some); };
        const Run first = once();
        CHECK(first.history.size() == some + 1);
        CHECK(first == once());
      }
    }
  }
}
