// The residuals of the first hundred iterations with every operator, recurrence and loop, against a plain CG in long
// double on the reference operator's matrix. What separates them is rounding, which CG lets grow.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "operators/reference.hpp"
#include "solver/cg.hpp"
#include "solver/preconditioner.hpp"
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

/// The largest |history_k - reference_k|, both relative to |b|.
template <class T>
double worst(const Operator<T>& a, const std::vector<double>& b, bool jacobi, solver::CgMethod method,
             solver::CgLoop loop, const std::vector<double>& reference) {
  Vector<T> on_host(static_cast<std::int64_t>(b.size()));
  for (std::size_t i = 0; i < b.size(); ++i) on_host[static_cast<std::int64_t>(i)] = static_cast<T>(b[i]);
  const Vector<T> load = copied(on_host, a.device());
  const auto inverse_diagonal = solver::make_preconditioner<T>(jacobi ? "jacobi" : "none", a);
  solver::CgOptions<T> options;
  options.tolerance = 1e-30;
  options.max_iterations = iterations<T>;
  options.inverse_diagonal = inverse_diagonal ? &*inverse_diagonal : nullptr;
  options.method = method;
  options.loop = loop;
  std::vector<double> x;
  const solver::CgResult result = conjugate_gradients(a, load, x, options);
  if (result.history.size() != reference.size()) return INFINITY;
  double largest = 0;
  for (std::size_t k = 0; k < reference.size(); ++k)
    largest = std::max(largest, std::abs(result.history[k].relative_residual - reference[k]));
  return largest;
}

}  // namespace

TEST_CASE_TEMPLATE("residuals of the first hundred iterations are the reference's", T, double, float) {
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
    std::vector<double> b(static_cast<std::size_t>(matrix.rows));
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = 1 + std::sin(static_cast<double>(i));
    Ingredients<T> from;
    from.device = tests::device();
    from.form = &small.form;
    from.element_matrices = &assembled.element_matrices;
    from.matrix = std::make_shared<CsrMatrix<T>>(assemble<T>(small.form, assembled.element_matrices));
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
        if (a->resident_cg() != nullptr)
          CHECK(worst<T>(*a, b, jacobi, CgMethod::single_reduction, CgLoop::resident, reference) < growth<T>);
      }
    }
  }
}
