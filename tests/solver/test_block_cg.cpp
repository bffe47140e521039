// Block CG: its kernels compared with Eigen, and every system compared with solving it alone, whatever the others are.

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <vector>

#include "operators/backend/passes/block_cg_kernels.hpp"
#include "operators/catalogue.hpp"
#include "solver/krylov/batched_cg.hpp"
#include "solver/krylov/block_cg.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/systems.hpp"

using namespace femcg;
using namespace femcg::operators;
using solver::CgResult;
using solver::StopReason;
using solver::SystemsCgOptions;
using tests::dense;
using tests::largest;
using tests::list_of;
using tests::on_device;
using tests::random_vector;
using tests::Spectrum;

namespace {

/// Random rows x stride entries, padding columns included.
template <class T>
MultiVector<T> random_columns(std::int64_t rows, int count, unsigned seed) {
  MultiVector<T> columns(rows, count, tests::device());
  copy(random_vector<T>(columns.entries().size(), seed), columns.entries());
  return columns;
}

template <class T>
Eigen::MatrixXd to_eigen(const MultiVector<T>& from) {
  const Vector<T> on_host = copied(from.entries(), Device::host);
  Eigen::MatrixXd to(from.rows(), from.stride());
  for (std::int64_t i = 0; i < from.rows(); ++i)
    for (int c = 0; c < from.stride(); ++c) to(i, c) = static_cast<double>(on_host[i * from.stride() + c]);
  return to;
}
Eigen::MatrixXd to_eigen(const SmallMatrix& from) {
  return Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
      from.data(), from.stride(), from.stride());
}
SmallMatrix random_matrix(int stride, unsigned seed) {
  SmallMatrix matrix(stride);
  const Vector<double> numbers = random_vector<double>(std::int64_t{stride} * stride, seed);
  std::copy_n(numbers.data(), numbers.size(), matrix.data());
  return matrix;
}

/// Checks entries of size 1 up to `bound`.
void check_near(const Eigen::MatrixXd& found, const Eigen::MatrixXd& expected, double bound) {
  REQUIRE(found.rows() == expected.rows());
  REQUIRE(found.allFinite());
  CHECK((found - expected).cwiseAbs().maxCoeff() <= bound);
}

template <class T>
void check_passes(std::int64_t rows, int count, bool with_diagonal, bool with_z) {
  CAPTURE(rows);
  CAPTURE(count);
  CAPTURE(with_diagonal);
  CAPTURE(with_z);
  const auto operations = make_block_cg_kernels<T>(tests::device());
  const MultiVector<T> q = random_columns<T>(rows, count, 1), z = random_columns<T>(rows, count, 2);
  MultiVector<T> w = random_columns<T>(rows, count, 3), s = random_columns<T>(rows, count, 4),
                 x = random_columns<T>(rows, count, 5);
  const int stride = w.stride();
  const InverseDiagonal numbers = random_vector<float>(rows, 6, 0.5), diagonal = on_device(numbers);
  const InverseDiagonal* inverse_diagonal = with_diagonal ? &diagonal : nullptr;
  Eigen::VectorXd solve = Eigen::VectorXd::Ones(rows);
  for (std::int64_t i = 0; with_diagonal && i < rows; ++i) solve[i] = static_cast<double>(numbers[i]);
  // Sums of n = rows or stride numbers of size 1, or of size n if they are sums themselves.
  constexpr double roundoff = std::numeric_limits<T>::epsilon(), of_double = std::numeric_limits<double>::epsilon();
  const double n = static_cast<double>(rows), k = stride, few = 4 * (k + 2) * roundoff;
  check_near(to_eigen(operations->product(q, z)), to_eigen(q).transpose() * to_eigen(z), n * n * of_double);

  const SmallMatrix step = random_matrix(stride, 7);
  const Eigen::MatrixXd expected_w = to_eigen(w) - to_eigen(q) * to_eigen(step);
  const BlockNorms norms = operations->update(q, step, inverse_diagonal, w);
  const Eigen::MatrixXd new_w = to_eigen(w);
  check_near(new_w, expected_w, k * few);
  check_near(to_eigen(norms.plain), new_w.transpose() * new_w, k * k * n * n * of_double);
  check_near(to_eigen(norms.preconditioned), new_w.transpose() * solve.asDiagonal() * new_w,
             k * k * n * (n * of_double + roundoff));

  const BlockStep of{random_matrix(stride, 8), random_matrix(stride, 9), random_matrix(stride, 10)};
  const Eigen::MatrixXd next_x = to_eigen(x) + to_eigen(s) * to_eigen(of.correction),
                        next_w = new_w * to_eigen(of.normaliser),
                        applied = with_z ? Eigen::MatrixXd(to_eigen(z) * to_eigen(of.normaliser))
                                         : Eigen::MatrixXd(solve.asDiagonal() * next_w),
                        next_s = applied + to_eigen(s) * to_eigen(of.direction);
  operations->advance(of, inverse_diagonal, with_z ? &z : nullptr, w, s, x);
  check_near(to_eigen(x), next_x, k * few);
  check_near(to_eigen(w), next_w, k * k * few);
  check_near(to_eigen(s), next_s, k * k * few);
}

template <class T>
std::vector<CgResult> solve(const Operator<T>& a, const std::vector<Vector<T>>& b, std::vector<std::vector<double>>& x,
                            const SystemsCgOptions<T>& options = {}) {
  return solver::block_conjugate_gradients<T>(a, b, x, options);
}

/// Checks that no system takes more iterations than alone, and that all have the same solutions.
void check_against_batched(const Operator<double>& a, const std::vector<Vector<double>>& b,
                           const solver::Preconditioner<double>* preconditioner, double tolerance) {
  SystemsCgOptions<double> options;
  options.tolerance = tolerance;
  options.preconditioner = preconditioner;
  std::vector<std::vector<double>> x, expected;
  const std::vector<CgResult> results = solve(a, b, x, options),
                              alone = solver::batched_conjugate_gradients<double>(a, b, expected, options);
  REQUIRE(results.size() == b.size());
  for (std::size_t c = 0; c < b.size(); ++c) {
    CAPTURE(c);
    CHECK(results[c].method == solver::CgMethod::block);
    CHECK(results[c].iterations <= alone[c].iterations + alone[c].iterations / 50);  // rounding differs
    tests::check_solution(results[c], x[c], alone[c], expected[c], tolerance);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("the passes are products with small dense matrices", T, double, float) {
  for (const int count : {1, 2, 3, 5, 8, 16, 17})
    for (const std::int64_t rows : {1, 31, 513, 4099})
      for (const bool with_diagonal : {false, true})
        for (const bool with_z : {false, true})
          if (!(with_diagonal && with_z)) check_passes<T>(rows, count, with_diagonal, with_z);
}

TEST_CASE("every system comes out as alone, in no more iterations: operators, preconditioners, numbers of systems") {
  tests::for_systems([](const Operator<double>& a, const std::vector<Vector<double>>& b, const auto* preconditioner) {
    check_against_batched(a, b, preconditioner, 1e-9);
  });
}

TEST_CASE("a Krylov space of k residuals is k times as large: n unknowns take n / k iterations") {
  const auto a = dense<double>(Spectrum(60, 1000).matrix());
  for (const int count : {2, 4, 6}) {
    CAPTURE(count);
    std::vector<Vector<double>> b;
    for (int c = 0; c < count; ++c) b.push_back(random_vector<double>(60, 20 + c));
    SystemsCgOptions<double> options;
    options.tolerance = 1e-9;
    std::vector<std::vector<double>> x;
    for (const CgResult& result : solve(*a, b, x, options)) {
      CHECK(result.reason == StopReason::converged);
      CHECK(result.iterations >= 60 / count - 3);
      CHECK(result.iterations <= 60 / count + 1);
    }
  }
}

TEST_CASE("eight systems, two of them equal, one zero, one the sum of two others, one nearly another") {
  const tests::SmallForm small = tests::make_form(mesh::CellShape::triangle, 2, {12, 9, 0});
  const ElementMatrices matrices = assemble_element_matrices(small.form);
  const auto a = find_operator("csr")->make<double>(tests::ingredients<double>(small.form, matrices), {});
  const auto m = solver::make_preconditioner<double>("jacobi", *a);
  std::vector<Vector<double>> b;
  for (const unsigned seed : {1, 1, 2, 3, 4, 4, 5, 6}) b.push_back(random_vector<double>(a->size(), seed));
  fill(b[3], 0.0);
  for (std::int64_t i = 0; i < a->size(); ++i) {
    b[6][i] = b[0][i] - 3 * b[2][i];
    b[5][i] += 1e-9 * b[7][i];  // its difference from b[4] is below and above the tolerance
  }
  for (const double tolerance : {1e-6, 1e-11}) {
    CAPTURE(tolerance);
    check_against_batched(*a, b, m.get(), tolerance);
  }
  std::vector<std::vector<double>> x;
  const std::vector<CgResult> results = solve(*a, b, x);
  CHECK(results[3].iterations == 0);
  CHECK(largest(x[3]) == 0);
  for (std::size_t i = 0; i < x[0].size(); ++i) {
    CHECK(std::abs(x[0][i] - x[1][i]) <= 1e-6 * largest(x[0]));
    CHECK(std::abs(x[6][i] - x[0][i] + 3 * x[2][i]) <= 1e-6 * largest(x[6]));
  }
  // Identical right-hand sides in all columns count as one system.
  std::vector<Vector<double>> same;
  for (int c = 0; c < 32; ++c) same.push_back(random_vector<double>(a->size(), 8));
  check_against_batched(*a, same, m.get(), 1e-9);
}

TEST_CASE("right-hand sides of very different size") {
  const auto a = dense<double>(Spectrum(50, 100).matrix());
  std::vector<Vector<double>> b;
  for (const double size : {1e-200, 1.0, 1e150}) {
    b.push_back(random_vector<double>(50, 30));
    for (double& entry : b.back().span()) entry *= size;
    b.back()[b.size()] *= 2;
  }
  check_against_batched(*a, b, nullptr, 1e-9);
}

TEST_CASE("single precision is refined to a tolerance that it does not have") {
  tests::check_refinement(solve<float>, 4);  // two are equal
}

TEST_CASE("every reason to stop") {
  const auto a = dense<double>(Spectrum(40, 50).matrix());
  const auto b = [](unsigned seed) { return random_vector<double>(40, seed); };
  std::vector<std::vector<double>> x;
  tests::check_limits(solve<double>, *a, list_of(b(1), b(2)));
  Vector<double> unknown(40);
  fill(unknown, std::numeric_limits<double>::quiet_NaN());
  const std::vector<CgResult> with_nan = solve(*a, list_of(b(1), std::move(unknown)), x);
  CHECK(with_nan[0].reason == StopReason::converged);
  CHECK(with_nan[1].reason == StopReason::not_finite);
  Spectrum negative(40, 50);
  negative.values[39] = -1;
  for (const CgResult& result : solve(*dense<double>(negative.matrix()), list_of(b(1), b(2)), x))
    CHECK(result.reason == StopReason::indefinite);
  // A matrix of rank 39, and a right-hand side outside its range.
  Spectrum singular(40, 50);
  singular.values[0] = 0;
  for (const CgResult& result : solve(*dense<double>(singular.matrix()), list_of(b(1), b(2)), x))
    CHECK(result.reason != StopReason::converged);
}
