// Operators with their own order of x and y, and their use.

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "solver/krylov/cg.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"

using namespace femcg;
using namespace femcg::operators;
namespace tests = femcg::tests;

namespace {

/// A matrix with rows of several lengths.
struct Problem {
  Problem() : small(tests::make_form(mesh::CellShape::quadrilateral, 3, {17, 13, 1})) {
    const ElementMatrices matrices = assemble_element_matrices(small.form);
    matrix = std::make_shared<CsrMatrix<double>>(assemble<double>(small.form, matrices));
  }
  std::unique_ptr<Operator<double>> make(const char* name) const {
    Ingredients<double> from;
    from.device = tests::device();
    from.matrix = matrix;
    return find_operator(name)->make<double>(from, {});
  }
  std::int64_t length(std::int32_t row) const { return matrix->row_offsets[row + 1] - matrix->row_offsets[row]; }

  tests::SmallForm small;
  std::shared_ptr<CsrMatrix<double>> matrix;
};

Vector<double> counted(std::int64_t n) {
  Vector<double> x(n);
  std::iota(x.data(), x.data() + n, 1.0);
  return x;
}

}  // namespace

TEST_CASE("the ordering of pjds is by length, longest row first; the others have the natural one") {
  const Problem problem;
  const auto pjds = problem.make("pjds");
  const Vector<std::int32_t> there = copied(pjds->ordering(), Device::host);
  const std::vector<std::int32_t> ordering(there.span().begin(), there.span().end());
  REQUIRE(ordering.size() == static_cast<std::size_t>(pjds->size()));
  for (std::size_t i = 1; i < ordering.size(); ++i) {
    CHECK(problem.length(ordering[i - 1]) >= problem.length(ordering[i]));
    if (problem.length(ordering[i - 1]) == problem.length(ordering[i])) CHECK(ordering[i - 1] < ordering[i]);
  }
  std::vector<std::int32_t> sorted = ordering;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) REQUIRE(sorted[i] == static_cast<std::int32_t>(i));
  CHECK(problem.make("sell")->ordering().size() == 0);
}

TEST_CASE("vectors go to an ordering and come back") {
  const Problem problem;
  for (const char* name : {"pjds", "csr"}) {
    const auto a = problem.make(name);
    const Vector<double> natural = counted(a->size());
    const Vector<double> there = copied(to_ordering(*a, natural), Device::host);
    const Vector<std::int32_t> ordering = copied(a->ordering(), Device::host);
    for (std::int32_t i = 0; i < a->size(); ++i) REQUIRE(there[i] == natural[ordering.size() == 0 ? i : ordering[i]]);
    const Vector<double> back = copied(from_ordering(*a, to_ordering(*a, natural)), Device::host);
    REQUIRE(std::ranges::equal(back.span(), natural.span()));
  }
}

TEST_CASE("CG with pjds is CG with csr: right-hand side and solution are in the natural order") {
  const Problem problem;
  const auto pjds = problem.make("pjds"), csr = problem.make("csr");
  const Vector<double> b = copied(counted(csr->size()), tests::device());
  for (const char* name : {"none", "jacobi"}) {
    CAPTURE(name);
    std::vector<double> of_pjds, of_csr;
    const auto solve = [&](const Operator<double>& a, std::vector<double>& x) {
      const auto inverse = solver::make_preconditioner<double>(name, a);
      solver::CgOptions<double> options;
      options.tolerance = 1e-10;
      options.preconditioner = inverse.get();
      return solver::conjugate_gradients(a, b, x, options);
    };
    const solver::CgResult one = solve(*pjds, of_pjds), other = solve(*csr, of_csr);
    CHECK(one.reason == solver::StopReason::converged);
    REQUIRE(other.reason == solver::StopReason::converged);
    REQUIRE(of_pjds.size() == of_csr.size());
    double largest = 0, difference = 0;
    for (std::size_t i = 0; i < of_csr.size(); ++i) {
      largest = std::max(largest, std::abs(of_csr[i]));
      difference = std::max(difference, std::abs(of_pjds[i] - of_csr[i]));
    }
    CHECK(difference <= 1e-7 * largest);  // the tolerance times the condition number
    for (std::size_t i = 0; i < 10; ++i)
      CHECK(one.history[i].relative_residual == doctest::Approx(other.history[i].relative_residual).epsilon(1e-10));
  }
}
