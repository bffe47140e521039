// Matrix Market files: read, multiplied and solved with every operator that takes a matrix, on the host or on a GPU.

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <memory>
#include <type_traits>

#include "operators/stored/io/matrix_market.hpp"
#include "operators/stored/assembled/single_values.hpp"
#include "solver/benchmark/agreement.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "tests/device.hpp"
#include "tests/locations.hpp"
#include "tests/rounding.hpp"

using namespace femcg;
using namespace femcg::operators;
namespace tests = femcg::tests;

namespace {

CsrMatrix<double> matrix_of(const char* file) {
  return std::move(read_matrix_market(tests::source_directory() / "tests/matrices" / file).matrix);
}

/// Ingredients in one precision, on the device of the tests.
template <class T>
Ingredients<T> ingredients(CsrMatrix<double> matrix) {
  Ingredients<T> from;
  from.device = tests::device();
  if constexpr (std::is_same_v<T, double>)
    from.matrix = std::make_shared<CsrMatrix<T>>(std::move(matrix));
  else
    from.matrix = std::make_shared<CsrMatrix<T>>(to_single(matrix));
  return from;
}

bool takes_a_matrix(const OperatorDescription& row) { return tests::runs_here(row) && row.needs == Needs::matrix; }

Eigen::MatrixXd dense(const CsrMatrix<double>& matrix) {
  Eigen::MatrixXd full = Eigen::MatrixXd::Zero(matrix.rows, matrix.rows);
  for (std::int32_t i = 0; i < matrix.rows; ++i)
    for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k)
      full(i, matrix.columns[k]) = matrix.values[k];
  return full;
}

}  // namespace

TEST_CASE_TEMPLATE("products: symmetric, skew-symmetric and general files", T, double, float) {
  for (const char* file : {"laplace.mtx", "skew.mtx", "integer.mtx", "free_format.mtx"}) {
    CAPTURE(file);
    const CsrMatrix<double> matrix = matrix_of(file);
    const auto reference = solver::reference_product(matrix, solver::pseudo_random(matrix.rows));
    const Ingredients<T> from = ingredients<T>(matrix_of(file));
    for (const OperatorDescription& row : catalogue()) {
      if (!takes_a_matrix(row)) continue;
      CAPTURE(row.name);
      const auto found = solver::agreement(*row.make<T>(from, {}), reference, double(tests::unit_roundoff<T>));
      CHECK(found.difference <= found.bound);
    }
  }
}

TEST_CASE("a solution is Eigen's, as near as the residual that is left and the condition allow") {
  constexpr double tolerance = 1e-12;
  const Eigen::MatrixXd a = dense(matrix_of("laplace.mtx"));
  const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(a.rows(), 1, 2), expected = a.llt().solve(b);
  const Eigen::VectorXd eigenvalues = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(a).eigenvalues();
  const double condition = eigenvalues.maxCoeff() / eigenvalues.minCoeff();
  Vector<double> load(a.rows());
  std::copy(b.begin(), b.end(), load.data());
  const Vector<double> on_device = copied(load, tests::device());
  const Ingredients<double> from = ingredients<double>(matrix_of("laplace.mtx"));
  for (const OperatorDescription& row : catalogue()) {
    if (!takes_a_matrix(row)) continue;
    CAPTURE(row.name);
    const auto op = row.make<double>(from, {});
    const auto jacobi = solver::make_preconditioner<double>("jacobi", *op);
    solver::CgOptions<double> options;
    options.tolerance = tolerance;
    options.preconditioner = jacobi.get();
    std::vector<double> x;
    const solver::CgResult result = solver::conjugate_gradients(*op, on_device, x, options);
    CHECK(result.reason == solver::StopReason::converged);
    // |A^-1 r| <= |A^-1| tolerance |A| |x|; Eigen's own error is far smaller.
    const Eigen::Map<const Eigen::VectorXd> found(x.data(), a.rows());
    CHECK((found - expected).norm() <= 2 * condition * tolerance * expected.norm());
  }
}
